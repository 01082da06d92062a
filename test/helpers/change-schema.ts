import { openSqlite } from '../../src/sqlite/driver.ts'
import { openState, statePath } from '../../src/state/open-state.ts'

/** Gives the state of a directory the number of another schema, and creates the state if there is none. */
export async function changeSchema(stateDir: string, version: number): Promise<void> {
  const state = await openState(stateDir)
  state.close()
  const raw = openSqlite(statePath(stateDir))
  raw.exec(`PRAGMA user_version = ${version}`)
  raw.close()
}
