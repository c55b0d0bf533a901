-- The sizes, constants and random rules of the TPC-C standard (revision 5.11) that loading and
-- running share; the numbers of clauses are the standard's.

local bit = require("bit")

local data = {
  ITEMS = 100000,
  DISTRICTS = 10,
  CUSTOMERS = 3000, -- Of each district, and so many orders in the beginning.
  FIRST_NEW_ORDER = 2101, -- Orders from this one on are not delivered yet.
  LOADED_AT = "2026-01-01 00:00:00", -- One time for all rows, so that every load is the same.
}

-- 2.1.6: the constant C of each kind of number. Those of last names differ between loading and
-- running by 87, which 2.1.6.1 allows.
local C = { last_name_load = 118, last_name_run = 205, customer = 421, item = 5003 }

-- 4.3.2.3: a last name is three of these.
local SYLLABLES = {
  [0] = "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
}

local function non_uniform(random, a, c, low, high)
  local number = bit.bor(random:uniform(0, a), random:uniform(low, high))
  return (number + c) % (high - low + 1) + low
end

function data.customer(random)
  return non_uniform(random, 1023, C.customer, 1, data.CUSTOMERS)
end

function data.item(random)
  return non_uniform(random, 8191, C.item, 1, data.ITEMS)
end

-- The last name with a number from 0 to 999.
function data.last_name(number)
  return SYLLABLES[math.floor(number / 100)]
    .. SYLLABLES[math.floor(number / 10) % 10]
    .. SYLLABLES[number % 10]
end

function data.last_name_to_load(random)
  return data.last_name(non_uniform(random, 255, C.last_name_load, 0, 999))
end

function data.last_name_to_ask(random)
  return data.last_name(non_uniform(random, 255, C.last_name_run, 0, 999))
end

-- A sum of money in cents as a number of SQL.
function data.money(cents)
  local sign = cents < 0 and "-" or ""
  cents = math.abs(cents)
  return string.format("%s%d.%02d", sign, math.floor(cents / 100), cents % 100)
end

-- Cents of a sum of money with two decimals, as the server writes it.
function data.cents(text)
  local sign, whole, part = text:match("^(-?)(%d+)%.(%d%d)$")
  local cents = tonumber(whole) * 100 + tonumber(part)
  return sign == "-" and -cents or cents
end

-- A rate with four decimals from a number of ten-thousandths.
function data.rate(ten_thousandths)
  return string.format("0.%04d", ten_thousandths)
end

return data
