"""`askew completion`: a script that teaches a shell to complete the commands."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      askew completion bash > ~/.local/share/bash-completion/completions/askew
      askew completion zsh > ~/.zfunc/_askew
      askew completion fish > ~/.config/fish/completions/askew.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:  # click knows all three
        raise click.UsageError(f"no completion for {shell}")
    root = context.find_root().command
    click.echo(found(root, {}, "askew", "_ASKEW_COMPLETE").source())
