import { listRuns, type Run } from '../../../batch/runs/runs.ts'
import { listSome } from '../../../core/list-some.ts'
import { safe } from '../../io/io.ts'

const MAX_OTHER_RUNS = 3

/** Returns the note that a manifest has other runs, unless the user specified the run itself. */
export async function describeOtherRuns(
  { stateDir, id, name, manifestPath }: Run,
  specified: string,
  verb: 'status' | 'results',
): Promise<string[]> {
  if (manifestPath === null || specified === id || specified === name) return []
  const others = (await listRuns(stateDir)).filter((run) => run.manifestPath === manifestPath && run.id !== id)
  const names = [...new Set(others.map((run) => run.name))]
  if (names.length === 0) return []
  const shownNames = listSome(names.slice(0, MAX_OTHER_RUNS), names.length)
  return [safe(`The manifest has other runs: ${shownNames}. Run \`gdn batch ${verb} <run>\` to show one.`)]
}
