'use strict';
// A reporter of mocha that writes the outcome of each test into a file.

const { appendFileSync } = require('fs');

module.exports = class {
  constructor(runner) {
    const record = (test, state, said) => {
      const line = { test: test.fullTitle(), state, said: said || '' };
      appendFileSync(process.env.CAIRN_OUTCOMES, JSON.stringify(line) + '\n');
    };
    runner.on('pass', (test) => record(test, 'pass'));
    runner.on('pending', (test) => record(test, 'skip'));
    runner.on('fail', (test, error) => record(test, 'fail', error.stack || String(error)));
  }
};
