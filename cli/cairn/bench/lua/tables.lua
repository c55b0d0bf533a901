-- Makes the tables of sysbench's OLTP scripts, with the same rows for the same --rand-seed.
--
-- Their own command `prepare` takes no seed. This one is run: --threads=1 --events=1 --time=0.

require("oltp_common")

local driver, connection

function thread_init()
   driver = sysbench.sql.driver()
   connection = driver:connect()
end

function event()
   for number = 1, sysbench.opt.tables do
      create_table(driver, connection, number)
   end
end

function thread_done()
   connection:disconnect()
end
