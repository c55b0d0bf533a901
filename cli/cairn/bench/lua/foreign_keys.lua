-- Inserts children, one a statement: ./cairn bench gives the numbers (bench/foreign_keys.py).
--
-- With --own=1 each client has one parent for itself, as far as there are as many; else each row
-- has any of the parents.

if sysbench.cmdline.command == nil then
   error("Give a command: run")
end

sysbench.cmdline.options = {
   parents = {"Parents are numbered from 1 to this", 1},
   own = {"Whether each client keeps to one parent", 0}
}

local connection, prepared, parent

function thread_init()
   connection = sysbench.sql.driver():connect()
   prepared = connection:prepare("INSERT INTO child (parent, pad) VALUES (?, 'some text')")
   parent = prepared:bind_create(sysbench.sql.type.INT)
   prepared:bind_param(parent)
end

function event()
   if sysbench.opt.own == 1 then
      parent:set(sysbench.tid % sysbench.opt.parents + 1)
   else
      parent:set(sysbench.rand.uniform(1, sysbench.opt.parents))
   end
   prepared:execute()
end

function thread_done()
   prepared:close()
   connection:disconnect()
end
