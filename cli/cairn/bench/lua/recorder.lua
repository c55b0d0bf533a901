-- Keeps what each request of a thread took, a line for each in a file of the thread's own:
-- end (microseconds of the monotonic clock), kind, duration in microseconds, rows, outcome.
-- cli/cairn/bench/records.py reads it.

local ffi = require("ffi")

ffi.cdef([[
typedef struct { long seconds; long nanoseconds; } cairn_time;
int clock_gettime(int clock, cairn_time *time);
int usleep(unsigned int microseconds);
]])

local CLOCK_MONOTONIC = 1
local time = ffi.new("cairn_time")

local Recorder = {}
Recorder.__index = Recorder

-- Microseconds of the monotonic clock, which Python's time.monotonic() reads too.
function Recorder.now()
  ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
  return tonumber(time.seconds) * 1000000 + math.floor(tonumber(time.nanoseconds) / 1000)
end

function Recorder.sleep(microseconds)
  ffi.C.usleep(microseconds)
end

function Recorder.open(directory, thread)
  local path = string.format("%s/thread-%d.tsv", directory, thread)
  local file = assert(io.open(path, "w"))
  file:setvbuf("full", 65536)
  return setmetatable({ file = file }, Recorder)
end

function Recorder:add(kind, begun, rows, outcome)
  local ended = Recorder.now()
  self.file:write(
    string.format("%d\t%s\t%d\t%d\t%s\n", ended, kind, ended - begun, rows, outcome)
  )
end

function Recorder:close()
  self.file:close()
end

return Recorder
