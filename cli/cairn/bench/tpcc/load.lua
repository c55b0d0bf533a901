-- The initial population of clause 4.3.3. A warehouse's rows follow from the seed and its number
-- alone, so any number of threads loads the same data.

local Random = require("random")
local data = require("data")

local ROWS_IN_STATEMENT = 200
-- A sync for each statement would measure the disk, not load.
local STATEMENTS_IN_TRANSACTION = 10

-- Rows for one table, sent in statements of many.
local Rows = {}
Rows.__index = Rows

function Rows.new(connection, table_name)
  return setmetatable({
    connection = connection,
    begin = "INSERT INTO " .. table_name .. " VALUES ",
    rows = {},
    sent = 0,
  }, Rows)
end

function Rows:add(format, ...)
  self.rows[#self.rows + 1] = string.format(format, ...)
  if #self.rows == ROWS_IN_STATEMENT then
    self:send()
  end
end

function Rows:send()
  if #self.rows == 0 then
    return
  end
  if self.sent % STATEMENTS_IN_TRANSACTION == 0 then
    self.connection:query("COMMIT")
  end
  self.connection:query(self.begin .. table.concat(self.rows, ","))
  self.rows = {}
  self.sent = self.sent + 1
end

function Rows:finish()
  self:send()
  self.connection:query("COMMIT")
end

-- Values of I_DATA and S_DATA: one of ten contains "ORIGINAL" somewhere.
local function brand(random)
  local text = random:text(26, 50)
  if not random:percent(10) then
    return text
  end
  local at = random:uniform(0, #text - 8)
  return text:sub(1, at) .. "ORIGINAL" .. text:sub(at + 9)
end

-- The columns of an address: two streets, city, state, ZIP code.
local function address(random)
  return string.format(
    "'%s','%s','%s','%s','%s11111'",
    random:text(10, 20),
    random:text(10, 20),
    random:text(10, 20),
    random:capitals(2),
    random:digits(4)
  )
end

local load = {}

function load.items(connection, seed)
  local random = Random.new(seed, 0)
  local rows = Rows.new(connection, "item")
  for id = 1, data.ITEMS do
    rows:add(
      "(%d,%d,'%s',%s,'%s')",
      id,
      random:uniform(1, 10000),
      random:text(14, 24),
      data.money(random:uniform(100, 10000)),
      brand(random)
    )
  end
  rows:finish()
end

local function stock(connection, random, warehouse)
  local rows = Rows.new(connection, "stock")
  for item = 1, data.ITEMS do
    local districts = {}
    for district = 1, data.DISTRICTS do
      districts[district] = random:text(24, 24)
    end
    rows:add(
      "(%d,%d,%d,'%s',0,0,0,'%s')",
      item,
      warehouse,
      random:uniform(10, 100),
      table.concat(districts, "','"),
      brand(random)
    )
  end
  rows:finish()
end

local function customers(connection, random, warehouse, district)
  local rows = Rows.new(connection, "customer")
  local history = Rows.new(connection, "history")
  for id = 1, data.CUSTOMERS do
    local last = id <= 1000 and data.last_name(id - 1) or data.last_name_to_load(random)
    rows:add(
      "(%d,%d,%d,'%s','OE','%s',%s,'%s','%s','%s',50000.00,%s,-10.00,10.00,1,0,'%s')",
      id,
      district,
      warehouse,
      random:text(8, 16),
      last,
      address(random),
      random:digits(16),
      data.LOADED_AT,
      random:percent(10) and "BC" or "GC",
      data.rate(random:uniform(0, 5000)),
      random:text(300, 500)
    )
    history:add(
      "(%d,%d,%d,%d,%d,'%s',10.00,'%s')",
      id,
      district,
      warehouse,
      district,
      warehouse,
      data.LOADED_AT,
      random:text(12, 24)
    )
  end
  rows:finish()
  history:finish()
end

local function order_lines(rows, random, warehouse, district, order, count)
  local delivered = order < data.FIRST_NEW_ORDER
  for number = 1, count do
    rows:add(
      "(%d,%d,%d,%d,%d,%d,%s,5,%s,'%s')",
      order,
      district,
      warehouse,
      number,
      random:uniform(1, data.ITEMS),
      warehouse,
      delivered and "'" .. data.LOADED_AT .. "'" or "NULL",
      delivered and "0.00" or data.money(random:uniform(1, 999999)),
      random:text(24, 24)
    )
  end
end

local function orders(connection, random, warehouse, district)
  local rows = Rows.new(connection, "orders")
  local new = Rows.new(connection, "new_orders")
  local lines = Rows.new(connection, "order_line")
  for id, customer in ipairs(random:permutation(data.CUSTOMERS)) do
    local delivered = id < data.FIRST_NEW_ORDER
    local count = random:uniform(5, 15)
    rows:add(
      "(%d,%d,%d,%d,'%s',%s,%d,1)",
      id,
      district,
      warehouse,
      customer,
      data.LOADED_AT,
      delivered and random:uniform(1, 10) or "NULL",
      count
    )
    order_lines(lines, random, warehouse, district, id, count)
    if not delivered then
      new:add("(%d,%d,%d)", id, district, warehouse)
    end
  end
  rows:finish()
  new:finish()
  lines:finish()
end

function load.warehouse(connection, seed, warehouse)
  local random = Random.new(seed, warehouse)
  connection:query(
    string.format(
      "INSERT INTO warehouse VALUES (%d,'%s',%s,%s,300000.00)",
      warehouse,
      random:text(6, 10),
      address(random),
      data.rate(random:uniform(0, 2000))
    )
  )
  stock(connection, random, warehouse)
  for district = 1, data.DISTRICTS do
    connection:query(
      string.format(
        "INSERT INTO district VALUES (%d,%d,'%s',%s,%s,30000.00,%d)",
        district,
        warehouse,
        random:text(6, 10),
        address(random),
        data.rate(random:uniform(0, 2000)),
        data.CUSTOMERS + 1
      )
    )
    customers(connection, random, warehouse, district)
    orders(connection, random, warehouse, district)
  end
end

return load
