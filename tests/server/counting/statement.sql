SELECT
  counted.item AS item,
  counted.n AS n
FROM (
  WITH pairs AS MATERIALIZED (
    SELECT DISTINCT
      e."unit" COLLATE "C" AS unit,
      e."item" COLLATE "C" AS item
    FROM "events" AS e
    WHERE
      NOT e."unit" COLLATE "C" IS NULL AND NOT e."item" COLLATE "C" IS NULL
  ), items AS (
    SELECT
      pairs.item AS item,
      CAST('0x' || LEFT(MD5($secret || CAST(pairs.item AS TEXT)), 7) AS BIGINT) AS hash,
      COUNT(*) AS n
    FROM pairs
    GROUP BY
      pairs.item
  ), first AS (
    SELECT
      pairs.unit AS unit
    FROM pairs
    ORDER BY
      pairs.unit
    LIMIT 1
  ), heavy AS (
    SELECT
      units.unit AS unit,
      units.hash AS hash,
      ROW_NUMBER() OVER (PARTITION BY units.hash ORDER BY units.unit) AS twin
    FROM (
      SELECT
        pairs.unit AS unit,
        CAST('0x' || LEFT(MD5($secret || CAST(pairs.unit AS TEXT)), 7) AS BIGINT) AS hash
      FROM pairs
      GROUP BY
        pairs.unit
      HAVING
        COUNT(*) > 10 OR pairs.unit = (
          SELECT
            first.unit
          FROM first
        )
    ) AS units
  ), placed AS (
    SELECT
      pairs.item AS item,
      ROW_NUMBER() OVER (
        PARTITION BY heavy.hash, heavy.twin
        ORDER BY heavy.hash * items.hash % 2147483647, pairs.item
      ) AS place
    FROM pairs
    JOIN heavy
      ON heavy.unit = pairs.unit
    JOIN items
      ON items.item = pairs.item
  ), dropped AS (
    SELECT
      placed.item AS item,
      COUNT(*) AS n
    FROM placed
    WHERE
      placed.place > 10
    GROUP BY
      placed.item
  )
  SELECT
    CAST(items.item AS TEXT) COLLATE "C" AS item,
    items.n - COALESCE(dropped.n, 0) AS n
  FROM items
  LEFT JOIN dropped
    ON dropped.item = items.item
  WHERE
    items.n > COALESCE(dropped.n, 0)
) AS counted
ORDER BY
  counted.n DESC,
  counted.item
LIMIT 1001
