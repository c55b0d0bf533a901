-- TPC-C for sysbench, written from the standard (revision 5.11). Terminals neither type nor think,
-- so the numbers are no official ones and only compare engines on one machine.
--
--   tables    makes the tables
--   prepare   loads them; threads share the warehouses
--   run       each thread is a terminal of one warehouse; the recorder keeps every transaction

local directory = debug.getinfo(1, "S").source:match("^@(.*)/")
package.path = directory .. "/?.lua;" .. directory .. "/../lua/?.lua;" .. package.path

local Random = require("random")
local Recorder = require("recorder")
local data = require("data")
local load = require("load")
local tables = require("tables")
local transactions = require("transactions")

sysbench.cmdline.options = {
  warehouses = { "Number of warehouses", 10 },
  engine = { "Storage engine of the tables", "rocksdb" },
  seed = { "Seed of all random numbers", 1 },
  records = { "Directory where the recorder writes", "." },
}

-- 5.2.3: of 100 transactions, with none of them more often than the standard wants at least.
local MIX = {
  { upto = 45, kind = "new_order" },
  { upto = 88, kind = "payment" },
  { upto = 92, kind = "order_status" },
  { upto = 96, kind = "delivery" },
  { upto = 100, kind = "stock_level" },
}

local function create_tables()
  tables.create(sysbench.sql.driver():connect(), sysbench.opt.engine)
end

local function populate()
  local connection = sysbench.sql.driver():connect()
  connection:query("SET SESSION autocommit = 0, unique_checks = 0")
  -- Thread 0 has the items besides, so it begins with them while the others load warehouses.
  if sysbench.tid == 0 then
    load.items(connection, sysbench.opt.seed)
  end
  for warehouse = 1 + sysbench.tid, sysbench.opt.warehouses, sysbench.opt.threads do
    load.warehouse(connection, sysbench.opt.seed, warehouse)
  end
  connection:disconnect()
end

sysbench.cmdline.commands = {
  tables = { create_tables },
  prepare = { populate, sysbench.cmdline.PARALLEL_COMMAND },
}

-- ---- a terminal ---------------------------------------------------------------------------------

local connection, random, recorder, terminal

function thread_init()
  connection = sysbench.sql.driver():connect()
  connection:query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
  random = Random.new(sysbench.opt.seed, 1000000 + sysbench.tid)
  recorder = Recorder.open(sysbench.opt.records, sysbench.tid)
  local warehouses = sysbench.opt.warehouses
  terminal = {
    warehouse = sysbench.tid % warehouses + 1,
    -- 2.8.1.1: a terminal has one district, in which it looks at the stock.
    district = math.floor(sysbench.tid / warehouses) % data.DISTRICTS + 1,
    warehouses = warehouses,
  }
end

function thread_done()
  recorder:close()
  connection:disconnect()
end

-- Runs one transaction; returns its outcome, or the number of an error after which it may be tried
-- again. sysbench counts deadlocks, lock time-outs and changed records as such; others end it.
local function try(transaction, input)
  if transaction.isolation then
    connection:query("SET TRANSACTION ISOLATION LEVEL " .. transaction.isolation)
  end
  connection:query("START TRANSACTION")
  local finished, outcome = pcall(transaction.run, connection, input)
  if finished then
    return outcome
  end
  if type(outcome) ~= "table" or outcome.errcode ~= sysbench.error.RESTART_EVENT then
    error(outcome, 0)
  end
  connection:query("ROLLBACK")
  return nil, outcome.sql_errno
end

local function choose()
  local number = random:uniform(1, 100)
  for _, entry in ipairs(MIX) do
    if number <= entry.upto then
      return entry.kind
    end
  end
end

function event()
  local kind = choose()
  local transaction = transactions[kind]
  local input = transaction.input(random, terminal)
  local begun = Recorder.now()
  local outcome, error_number
  repeat
    local tried = Recorder.now()
    outcome, error_number = try(transaction, input)
    if error_number then
      recorder:add(kind, tried, 0, "error " .. error_number)
    end
  until outcome
  recorder:add(kind, begun, 1, outcome)
end
