// A relay, as tests need one: a process that passes sealed requests on to one gateway, and nothing
// else of them. It says where it listens, and then the size of each request and reply.

import { createServer } from "node:http";

const gateway = process.argv[2];

async function passedOn(request, response) {
  const sealed = Buffer.concat(await request.toArray());
  const reply = await fetch(gateway, {
    method: "POST",
    headers: { "content-type": request.headers["content-type"] },
    body: sealed,
  });
  const body = Buffer.from(await reply.arrayBuffer());
  console.log(JSON.stringify([sealed.length, body.length]));
  response.writeHead(reply.status, { "content-type": reply.headers.get("content-type") });
  response.end(body);
}

const server = createServer((request, response) => {
  passedOn(request, response).catch(() => response.writeHead(502).end());
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
