// Loaded with `--require` in all processes of a test that reads and writes many keystores. They derive keys with far
// less work than the files say, so only processes with this module can open the files.
const crypto = require('node:crypto')
const { syncBuiltinESMExports } = require('node:module')

const { scrypt } = crypto
crypto.scrypt = (password, salt, size, options, done) =>
  scrypt(password, salt, size, { ...options, N: Math.min(options.N, 1024) }, done)
syncBuiltinESMExports()
