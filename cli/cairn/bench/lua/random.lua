-- Random numbers and texts that depend on the seed alone, not on sysbench, threads or time: two
-- engines that load with one seed have the same rows.

local bit = require("bit")
local ffi = require("ffi")

local bxor, lshift, rshift = bit.bxor, bit.lshift, bit.rshift
local floor = math.floor
local TWO_32 = 4294967296
local LETTERS = ffi.new(
  "const char[?]",
  63,
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)
local MAX_TEXT = 1024
local text = ffi.new("char[?]", MAX_TEXT)

local Random = {}
Random.__index = Random

-- A generator (Marsaglia's xorshift with 128 bits of state); `stream` tells apart the generators of
-- one seed. Both are integers below 2^31.
function Random.new(seed, stream)
  local self = setmetatable({
    x = bit.tobit(seed),
    y = bit.tobit(stream * 2654435 + 1),
    z = bit.tobit(0x6c078965),
    w = bit.tobit(0x075bcd15),
  }, Random)
  -- Neighbouring seeds give similar numbers at first.
  for _ = 1, 64 do
    self:bits()
  end
  return self
end

-- 32 random bits, as an integer from 0 on.
function Random:bits()
  local t = bxor(self.x, lshift(self.x, 11))
  self.x, self.y, self.z = self.y, self.z, self.w
  self.w = bxor(self.w, rshift(self.w, 19), t, rshift(t, 8))
  return self.w % TWO_32
end

-- An integer from `low` to `high`, both included.
function Random:uniform(low, high)
  return low + floor(self:bits() * (high - low + 1) / TWO_32)
end

-- Whether something happens that happens so many times of a hundred.
function Random:percent(chance)
  return self:uniform(1, 100) <= chance
end

local function fill(self, least, most, characters)
  local length = self:uniform(least, most)
  for i = 0, length - 1 do
    text[i] = LETTERS[self:uniform(characters.first, characters.last)]
  end
  return ffi.string(text, length)
end

local ALPHANUMERIC = { first = 0, last = 61 }
local CAPITALS = { first = 0, last = 25 }
local DIGITS = { first = 52, last = 61 }

-- A text of letters and digits with a length from `least` to `most`, below 1024.
function Random:text(least, most)
  return fill(self, least, most, ALPHANUMERIC)
end

function Random:capitals(length)
  return fill(self, length, length, CAPITALS)
end

function Random:digits(length)
  return fill(self, length, length, DIGITS)
end

-- The integers from 1 to `count` in random order.
function Random:permutation(count)
  local numbers = {}
  for i = 1, count do
    numbers[i] = i
  end
  for i = count, 2, -1 do
    local j = self:uniform(1, i)
    numbers[i], numbers[j] = numbers[j], numbers[i]
  end
  return numbers
end

return Random
