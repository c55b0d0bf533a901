'use strict';
// The connection that knex's tests use for all clients of MySQL.

module.exports = {
  mysql: {
    socketPath: process.env.CAIRN_SOCKET,
    database: 'knex_test',
    user: 'root',
    password: '',
    charset: 'utf8',
  },
};
