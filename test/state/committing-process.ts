import { writeSync } from 'node:fs'
import { openState } from '../../src/state/open-state.ts'

/** A process that prints after each commit what it committed: `node … <state directory> <commits>`. */
const [stateDir = '', commits = '1'] = process.argv.slice(2)
const state = await openState(stateDir)
for (let n = 1; n <= Number(commits); n++) {
  // Several pages, so that a part of the commit can reach the disk.
  await state.write((sql) => {
    sql.run('INSERT INTO servers (origin) VALUES (?)', `server ${n}`)
    sql.run(
      'INSERT INTO runs (id, kind, name, note, started_at, fence, beat_at) VALUES (?, ?, ?, ?, 0, 1, 0)',
      `${n}`,
      'command',
      '',
      'x'.repeat(6000),
    )
  })
  writeSync(1, `committed ${n}\n`)
}
