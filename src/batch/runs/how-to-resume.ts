import { basename } from 'node:path'
import { shellWord } from '../../core/shell-word.ts'
import { type Drop, isUnrevealed, readStoredList } from '../../state/drops.ts'

type ResumableRun = Pick<Drop, 'name' | 'runName' | 'manifest' | 'reading' | 'contract' | 'blockchain'>

/**
 * Returns the command that resumes a run with this number of unsent rows. For an unrevealed drop with unsent rows, this
 * is the mint command. If rows were minted revealed, they can be identified only by the metadata in the manifest.
 */
export function formatResumeCommand(run: ResumableRun, pending: number): string {
  if (!isUnrevealed(run) || pending === 0) return `gdn batch resume ${run.name}`
  const runFlagText = run.runName === null ? '' : ` --run ${shellWord(run.runName)}`
  const collection = ` --contract ${run.contract} --blockchain ${run.blockchain}`
  return `gdn batch mint ${shellWord(run.manifest ?? '<manifest>')}${collection}${runFlagText} --unrevealed <file>`
}

/**
 * Returns the hint on how to use the run of a list of receivers; null if the run has no list.
 *
 * @param serverFlags flags that select the server, such as ` --local`; empty if the configuration selects it
 */
export function formatMintListHint(run: ResumableRun, serverFlags: string): string | null {
  const { name, runName, manifest, contract, blockchain } = run
  const list = readStoredList(run)
  if (list === null) return null
  const { path, merge, skipsContracts } = list
  const isNamed = path === null || runName !== `${basename(manifest ?? '')}+${basename(path)}`
  const flags = [
    `--contract ${contract} --blockchain ${blockchain}`,
    path === null ? '--to-stdin' : `--to ${shellWord(path)}`,
    ...(merge ? ['--merge'] : []),
    ...(skipsContracts ? ['--skip-contracts'] : []),
    ...(isNamed ? [`--run ${shellWord(runName ?? name)}`] : []),
  ]
  return `To mint to the list of the run ${name}, run \`gdn batch mint ${shellWord(manifest ?? '<manifest>')} ${flags.join(' ')}${serverFlags}\`.`
}
