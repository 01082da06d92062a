import { writeSync } from 'node:fs'
import { openState } from '../../src/state/open-state.ts'

/** A process that stops in the middle of a transaction: `node … <state directory> SIGSTOP|wait`. */
const [stateDir = '', how = 'wait'] = process.argv.slice(2)
const state = await openState(stateDir)
await state.write((sql) => {
  sql.run('INSERT INTO servers (origin) VALUES (?)', 'https://stopped.example')
  writeSync(1, 'inside\n')
  if (how === 'SIGSTOP') process.kill(process.pid, 'SIGSTOP')
  else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
