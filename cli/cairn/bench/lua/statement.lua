-- Runs one statement over and over: ./cairn bench gives its text, bench/sysbench.py has the texts.
--
-- Every ? of the statement is an integer that each run chooses anew. With --span=N the first ? is
-- the begin of a range of N numbers and the second one its end; all others are numbers by
-- themselves. Numbers are from 1 to --rows, evenly likely.

if sysbench.cmdline.command == nil then
   error("Give a command: run")
end

sysbench.cmdline.options = {
   statement = {"The statement, with a ? for each number", ""},
   rows = {"The largest number", 1},
   span = {"Numbers in a range; 0: there is none", 0}
}

local connection, prepared, numbers

function thread_init()
   connection = sysbench.sql.driver():connect()
   prepared = connection:prepare(sysbench.opt.statement)
   numbers = {}
   for _ in string.gmatch(sysbench.opt.statement, "?") do
      numbers[#numbers + 1] = prepared:bind_create(sysbench.sql.type.INT)
   end
   if #numbers > 0 then
      prepared:bind_param(unpack(numbers))
   end
end

function event()
   local span = sysbench.opt.span
   local chosen = 1
   if span > 0 then
      local first = sysbench.rand.uniform(1, math.max(1, sysbench.opt.rows - span + 1))
      numbers[1]:set(first)
      numbers[2]:set(first + span - 1)
      chosen = 3
   end
   for position = chosen, #numbers do
      numbers[position]:set(sysbench.rand.uniform(1, sysbench.opt.rows))
   end
   prepared:execute()
end

function thread_done()
   prepared:close()
   connection:disconnect()
end
