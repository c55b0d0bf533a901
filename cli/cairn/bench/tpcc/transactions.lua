-- The five transactions of clause 2. Each has a function that draws its input and one that runs it,
-- so that a transaction which met a deadlock is run again with the same input.
--
-- The isolation that 3.4.1 wants comes from locks under READ COMMITTED: whatever a transaction
-- reads and another may change, it locks. Order-Status only reads and has one view for it all.
-- Stock is locked in the order of its key, so that no deadlock is of the workload's own making.

local data = require("data")

local format = string.format

-- The rows of a query as tables of texts; a NULL is nil.
local function rows(connection, ...)
  local result = connection:query(format(...))
  local found = {}
  for i = 1, result.nrows do
    found[i] = { unpack(result:fetch_row(), 1, result.nfields) }
  end
  return found
end

-- The one row of a query, nil where there is none.
local function row(connection, ...)
  return rows(connection, ...)[1]
end

local function run(connection, ...)
  connection:query(format(...))
end

-- A warehouse other than `home`, where there is one.
local function another(random, home, warehouses)
  local other = random:uniform(1, warehouses - 1)
  return other < home and other or other + 1
end

-- 2.5.1.2 and 2.6.1.2: six of ten customers are asked for by last name.
local function choose_customer(random, input)
  if random:percent(60) then
    input.last_name = data.last_name_to_ask(random)
  else
    input.customer = data.customer(random)
  end
end

-- The customer with an id, or the one in the middle of those with a last name, by first name: the
-- id and what `columns` names besides.
local function find_customer(connection, warehouse, district, input, columns, lock)
  if input.customer then
    return row(
      connection,
      "SELECT c_id, %s FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d%s",
      columns,
      warehouse,
      district,
      input.customer,
      lock
    )
  end
  local found = rows(
    connection,
    "SELECT c_id, %s FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' "
      .. "ORDER BY c_first%s",
    columns,
    warehouse,
    district,
    input.last_name,
    lock
  )
  return found[math.ceil(#found / 2)]
end

local transactions = {}

-- ---- New-Order (2.4) ----------------------------------------------------------------------------

transactions.new_order = {}

function transactions.new_order.input(random, terminal)
  local input = {
    warehouse = terminal.warehouse,
    district = random:uniform(1, data.DISTRICTS),
    customer = data.customer(random),
    lines = {},
    all_local = 1,
    fails = random:percent(1),
  }
  for i = 1, random:uniform(5, 15) do
    local supply = terminal.warehouse
    if terminal.warehouses > 1 and random:percent(1) then
      supply = another(random, supply, terminal.warehouses)
      input.all_local = 0
    end
    input.lines[i] = { item = data.item(random), supply = supply, quantity = random:uniform(1, 10) }
  end
  table.sort(input.lines, function(a, b)
    if a.supply ~= b.supply then
      return a.supply < b.supply
    end
    return a.item < b.item
  end)
  if input.fails then
    input.lines[#input.lines].item = data.ITEMS + 1 -- 2.4.1.5: an item that does not exist.
  end
  return input
end

-- Takes a line's items out of the stock; returns the values of its row in order_line, nil where
-- there is no such item.
local function take(connection, input, order, number, line)
  local item =
    row(connection, "SELECT i_price, i_name, i_data FROM item WHERE i_id = %d", line.item)
  if not item then
    return nil
  end
  local stock = row(
    connection,
    "SELECT s_quantity, s_dist_%02d, s_data FROM stock WHERE s_w_id = %d AND s_i_id = %d "
      .. "FOR UPDATE",
    input.district,
    line.supply,
    line.item
  )
  local left = tonumber(stock[1]) - line.quantity
  if left < 10 then
    left = left + 91
  end
  run(
    connection,
    "UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + 1, "
      .. "s_remote_cnt = s_remote_cnt + %d WHERE s_w_id = %d AND s_i_id = %d",
    left,
    line.quantity,
    line.supply == input.warehouse and 0 or 1,
    line.supply,
    line.item
  )
  return format(
    "(%d,%d,%d,%d,%d,%d,NULL,%d,%s,'%s')",
    order,
    input.district,
    input.warehouse,
    number,
    line.item,
    line.supply,
    line.quantity,
    data.money(line.quantity * data.cents(item[1])),
    stock[2]
  )
end

function transactions.new_order.run(connection, input)
  local warehouse, district = input.warehouse, input.district
  local found = row(
    connection,
    "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE",
    warehouse,
    district
  )
  local order = tonumber(found[1])
  run(
    connection,
    "UPDATE district SET d_next_o_id = %d WHERE d_w_id = %d AND d_id = %d",
    order + 1,
    warehouse,
    district
  )
  row(
    connection,
    "SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id "
      .. "WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
    warehouse,
    district,
    input.customer
  )
  run(
    connection,
    "INSERT INTO orders VALUES (%d,%d,%d,%d,NOW(),NULL,%d,%d)",
    order,
    district,
    warehouse,
    input.customer,
    #input.lines,
    input.all_local
  )
  run(connection, "INSERT INTO new_orders VALUES (%d,%d,%d)", order, district, warehouse)
  local lines = {}
  for number, line in ipairs(input.lines) do
    lines[number] = take(connection, input, order, number, line)
    if not lines[number] then
      run(connection, "ROLLBACK")
      return "rollback"
    end
  end
  run(connection, "INSERT INTO order_line VALUES %s", table.concat(lines, ","))
  run(connection, "COMMIT")
  return "ok"
end

-- ---- Payment (2.5) ------------------------------------------------------------------------------

transactions.payment = {}

function transactions.payment.input(random, terminal)
  local input = {
    warehouse = terminal.warehouse,
    district = random:uniform(1, data.DISTRICTS),
    amount = random:uniform(100, 500000),
  }
  input.customer_warehouse, input.customer_district = input.warehouse, input.district
  if terminal.warehouses > 1 and random:percent(15) then
    input.customer_warehouse = another(random, input.warehouse, terminal.warehouses)
    input.customer_district = random:uniform(1, data.DISTRICTS)
  end
  choose_customer(random, input)
  return input
end

-- What a customer with bad credit has in c_data from now on: this payment before the rest.
local function with_payment(connection, input, customer)
  local old = row(
    connection,
    "SELECT c_data FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
    input.customer_warehouse,
    input.customer_district,
    customer
  )
  local new = format(
    "%d %d %d %d %d %s ",
    customer,
    input.customer_district,
    input.customer_warehouse,
    input.district,
    input.warehouse,
    data.money(input.amount)
  )
  return (new .. old[1]):sub(1, 500)
end

function transactions.payment.run(connection, input)
  local warehouse, district = input.warehouse, input.district
  local amount = data.money(input.amount)
  run(connection, "UPDATE warehouse SET w_ytd = w_ytd + %s WHERE w_id = %d", amount, warehouse)
  local place = row(
    connection,
    "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = %d",
    warehouse
  )
  run(
    connection,
    "UPDATE district SET d_ytd = d_ytd + %s WHERE d_w_id = %d AND d_id = %d",
    amount,
    warehouse,
    district
  )
  local part = row(
    connection,
    "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district "
      .. "WHERE d_w_id = %d AND d_id = %d",
    warehouse,
    district
  )
  local customer = find_customer(
    connection,
    input.customer_warehouse,
    input.customer_district,
    input,
    "c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, "
      .. "c_phone, c_since, c_credit_lim, c_discount, c_balance",
    " FOR UPDATE"
  )
  local id = tonumber(customer[1])
  local new_data = ""
  if customer[2] == "BC" then
    new_data = format(", c_data = '%s'", with_payment(connection, input, id))
  end
  run(
    connection,
    "UPDATE customer SET c_balance = c_balance - %s, c_ytd_payment = c_ytd_payment + %s, "
      .. "c_payment_cnt = c_payment_cnt + 1%s WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
    amount,
    amount,
    new_data,
    input.customer_warehouse,
    input.customer_district,
    id
  )
  run(
    connection,
    "INSERT INTO history VALUES (%d,%d,%d,%d,%d,NOW(),%s,'%s    %s')",
    id,
    input.customer_district,
    input.customer_warehouse,
    district,
    warehouse,
    amount,
    place[1],
    part[1]
  )
  run(connection, "COMMIT")
  return "ok"
end

-- ---- Order-Status (2.6) -------------------------------------------------------------------------

transactions.order_status = { isolation = "REPEATABLE READ" }

function transactions.order_status.input(random, terminal)
  local input = { warehouse = terminal.warehouse, district = random:uniform(1, data.DISTRICTS) }
  choose_customer(random, input)
  return input
end

function transactions.order_status.run(connection, input)
  local customer = find_customer(
    connection,
    input.warehouse,
    input.district,
    input,
    "c_balance, c_first, c_middle, c_last",
    ""
  )
  local order = row(
    connection,
    "SELECT o_id, o_entry_d, o_carrier_id FROM orders "
      .. "WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %s ORDER BY o_id DESC LIMIT 1",
    input.warehouse,
    input.district,
    customer[1]
  )
  rows(
    connection,
    "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line "
      .. "WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %s",
    input.warehouse,
    input.district,
    order[1]
  )
  run(connection, "COMMIT")
  return "ok"
end

-- ---- Delivery (2.7) -----------------------------------------------------------------------------

transactions.delivery = {}

function transactions.delivery.input(random, terminal)
  return { warehouse = terminal.warehouse, carrier = random:uniform(1, 10) }
end

-- Delivers the oldest new order of a district; returns whether there was one.
local function deliver(connection, warehouse, district, carrier)
  local oldest = row(
    connection,
    "SELECT no_o_id FROM new_orders WHERE no_w_id = %d AND no_d_id = %d "
      .. "ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    warehouse,
    district
  )
  if not oldest then
    return false
  end
  local order = oldest[1]
  run(
    connection,
    "DELETE FROM new_orders WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %s",
    warehouse,
    district,
    order
  )
  local of_order =
    format("ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %s", warehouse, district, order)
  local customer = row(
    connection,
    "SELECT o_c_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %s FOR UPDATE",
    warehouse,
    district,
    order
  )
  run(
    connection,
    "UPDATE orders SET o_carrier_id = %d WHERE o_w_id = %d AND o_d_id = %d AND o_id = %s",
    carrier,
    warehouse,
    district,
    order
  )
  run(connection, "UPDATE order_line SET ol_delivery_d = NOW() WHERE %s", of_order)
  local total = row(connection, "SELECT SUM(ol_amount) FROM order_line WHERE %s", of_order)
  run(
    connection,
    "UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1 "
      .. "WHERE c_w_id = %d AND c_d_id = %d AND c_id = %s",
    total[1],
    warehouse,
    district,
    customer[1]
  )
  return true
end

-- The districts are delivered in one transaction, which 2.7.2.2 allows, and at once, not later from
-- a queue.
function transactions.delivery.run(connection, input)
  local outcome = "ok"
  for district = 1, data.DISTRICTS do
    if not deliver(connection, input.warehouse, district, input.carrier) then
      outcome = "skipped"
    end
  end
  run(connection, "COMMIT")
  return outcome
end

-- ---- Stock-Level (2.8) --------------------------------------------------------------------------

transactions.stock_level = {}

function transactions.stock_level.input(random, terminal)
  return {
    warehouse = terminal.warehouse,
    district = terminal.district,
    threshold = random:uniform(10, 20),
  }
end

function transactions.stock_level.run(connection, input)
  local next_order = row(
    connection,
    "SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d",
    input.warehouse,
    input.district
  )
  local next_id = tonumber(next_order[1])
  row(
    connection,
    "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id "
      .. "AND s_i_id = ol_i_id WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id >= %d "
      .. "AND ol_o_id < %d AND s_quantity < %d",
    input.warehouse,
    input.district,
    next_id - 20,
    next_id,
    input.threshold
  )
  run(connection, "COMMIT")
  return "ok"
end

return transactions
