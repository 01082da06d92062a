import { openState } from '../../src/state/open-state.ts'

/** A process with a statement that changes many rows of its transaction again: `node … <state directory>`. */
const [stateDir = ''] = process.argv.slice(2)
const state = await openState(stateDir)
const changed = await state.write((sql) => {
  for (let n = 0; n < 5_000; n++) sql.run('INSERT INTO servers (origin) VALUES (?)', `server ${n} ${'x'.repeat(100)}`)
  return sql.run("UPDATE servers SET origin = origin || '.'")
})
process.stdout.write(`changed ${changed}`)
