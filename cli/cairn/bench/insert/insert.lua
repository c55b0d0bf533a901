-- The insert benchmark for sysbench: rows come in the order of the key and, in most steps, as many
-- go at the other end. Each table has one client that writes, the first threads; the others ask.
--
--   tables       makes the tables, without their secondary indexes
--   run          one step: --rows-per-client of them at full speed, or --time seconds of them at a rate

local directory = debug.getinfo(1, "S").source:match("^@(.*)/")
package.path = directory .. "/../lua/?.lua;" .. package.path

local Random = require("random")
local Recorder = require("recorder")

sysbench.cmdline.options = {
  tables = { "Number of tables", 1 },
  engine = { "Storage engine of the tables", "rocksdb" },
  seed = { "Seed of all random numbers", 1 },
  records = { "Directory where the recorder writes", "." },
  deletes = { "Whether a writer deletes as many rows as it inserts", false },
  batch = { "Rows of one statement", 100 },
  rows_per_client = { "Rows that each writer inserts; 0: until the time is over", 0 },
  insert_rate = { "Rows that each writer inserts each second; 0: as many as it can", 0 },
}

local S = 1000000 -- Microseconds.
local FIRST_TIME = 1767225600 -- 2026-01-01 00:00:00 UTC.
local ROWS_PER_SECOND = 1000 -- Of the time that the rows tell, not of the run.
local REGISTERS, CUSTOMERS, PRODUCTS, HIGHEST_PRICE = 1000, 100000, 10000, 500
local ROWS_ASKED = 10

local function create_tables()
  local connection = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.tables do
    connection:query("DROP TABLE IF EXISTS sales" .. number)
    connection:query(
      "CREATE TABLE sales"
        .. number
        .. " (transactionid BIGINT NOT NULL AUTO_INCREMENT, dateandtime DATETIME NOT NULL,"
        .. " cashregisterid INT NOT NULL, customerid INT NOT NULL, productid INT NOT NULL,"
        .. " price FLOAT NOT NULL, data VARCHAR(4000), PRIMARY KEY (transactionid)) ENGINE="
        .. sysbench.opt.engine
    )
  end
end

sysbench.cmdline.commands = { tables = { create_tables } }

local connection, random, recorder, client

local function time_of(transaction)
  return os.date("!%Y-%m-%d %H:%M:%S", FIRST_TIME + math.floor(transaction / ROWS_PER_SECOND))
end

local function price()
  return random:uniform(0, HIGHEST_PRICE * 100) / 100
end

-- ---- writing ------------------------------------------------------------------------------------

-- The statement that inserts rows from the transaction `first` on.
local function insert_statement(first, count)
  local rows = {}
  local time = time_of(first)
  for i = 1, count do
    rows[i] = string.format(
      "('%s',%d,%d,%d,%.2f,'%s')",
      time,
      random:uniform(1, REGISTERS),
      random:uniform(1, CUSTOMERS),
      random:uniform(1, PRODUCTS),
      price(),
      random:text(10, 10)
    )
  end
  return "INSERT INTO "
    .. client.table_name
    .. " (dateandtime, cashregisterid, customerid, productid, price, data) VALUES "
    .. table.concat(rows, ",")
end

-- The smallest or greatest number of a transaction, `default` for an empty table.
local function extreme(which, default)
  local found = connection:query_row(
    string.format("SELECT %s(transactionid) FROM %s", which, client.table_name)
  )
  return found and tonumber(found) or default
end

local function timed(kind, rows, statement)
  local begun = Recorder.now()
  connection:query(statement)
  recorder:add(kind, begun, rows, "ok")
end

local function write()
  local batch = sysbench.opt.batch
  local wanted = sysbench.opt.rows_per_client
  if wanted > 0 then
    if client.inserted >= wanted then
      return true -- Ends the run of this thread, not an error.
    end
    batch = math.min(batch, wanted - client.inserted)
  end
  local statement = insert_statement(client.next, batch)
  if sysbench.opt.insert_rate > 0 then
    -- Not before: other threads may still have been connecting.
    client.begun = client.begun or Recorder.now()
    -- A writer that is late does not wait until it has caught up.
    local due = client.begun + client.inserted / sysbench.opt.insert_rate * S
    local early = due - Recorder.now()
    if early > 0 then
      Recorder.sleep(early)
    end
  end
  timed("insert", batch, statement)
  client.next = client.next + batch
  client.inserted = client.inserted + batch
  if sysbench.opt.deletes then
    timed(
      "delete",
      batch,
      string.format(
        "DELETE FROM %s WHERE transactionid BETWEEN %d AND %d",
        client.table_name,
        client.oldest,
        client.oldest + batch - 1
      )
    )
    client.oldest = client.oldest + batch
  end
end

-- ---- asking -------------------------------------------------------------------------------------

-- Ranges of the three indexes, and of a time within a price, in turn; all are covered.
local QUERIES = {
  function()
    return string.format(
      "SELECT price, customerid FROM %s FORCE INDEX (market) WHERE price >= %.2f "
        .. "ORDER BY price, customerid LIMIT %d",
      client.table_name,
      price(),
      ROWS_ASKED
    )
  end,
  function()
    return string.format(
      "SELECT cashregisterid, price, customerid FROM %s FORCE INDEX (register) "
        .. "WHERE cashregisterid >= %d ORDER BY cashregisterid, price, customerid LIMIT %d",
      client.table_name,
      random:uniform(1, REGISTERS),
      ROWS_ASKED
    )
  end,
  function()
    return string.format(
      "SELECT price, dateandtime, customerid FROM %s FORCE INDEX (price_time) "
        .. "WHERE price >= %.2f ORDER BY price, dateandtime, customerid LIMIT %d",
      client.table_name,
      price(),
      ROWS_ASKED
    )
  end,
}

local function ask()
  client.asked = client.asked + 1
  timed("query", 1, QUERIES[client.asked % #QUERIES + 1]())
end

-- ---- threads ------------------------------------------------------------------------------------

function thread_init()
  connection = sysbench.sql.driver():connect()
  local tables = sysbench.opt.tables
  client = {
    table_name = "sales" .. (sysbench.tid % tables + 1),
    writes = sysbench.tid < tables,
    inserted = 0,
    asked = 0,
  }
  random = Random.new(sysbench.opt.seed, sysbench.tid)
  if client.writes then
    client.next = extreme("MAX", 0) + 1
    client.oldest = extreme("MIN", 1)
  end
  recorder = Recorder.open(sysbench.opt.records, sysbench.tid)
end

function thread_done()
  recorder:close()
  connection:disconnect()
end

function event()
  if client.writes then
    return write()
  end
  ask()
end
