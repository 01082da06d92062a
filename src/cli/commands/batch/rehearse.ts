import { isEvm } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import { addCheckFlag, addRunFlags, addTargetFlags, TARGET_ALIASES } from '../../batch/options/flags.ts'
import { REHEARSAL_VIEW } from '../../batch/report/rehearsal-view.ts'
import type { RehearseFlags } from '../../batch/run-rehearsal.ts'
import { GdnCommand, missingCollectionError } from '../../command.ts'
import { addDataDirFlag, resolveAdministeredDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addStateDirFlag, notEmpty } from '../../flags/common.ts'
import { addStoredFilesFlags } from '../../flags/stored-files.ts'
import { createOutput } from '../../render/output.ts'

export function command(deps: Deps, run = rehearse): GdnCommand {
  return new GdnCommand({
    about:
      "The command mints the drop on a copy of the collection's network at the latest block. It prints the expected outcome and cost of the real run. Run the command on the backend's machine, because it reads the backend's configuration and database. It uses the balances and nonces of the backend's signers, but not their keys. It sends nothing to the network, and stores its data in a temporary directory. The exit code is the same as for a real run.",
    examples: [
      ['Rehearse a drop', 'gdn batch rehearse drop.csv -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon'],
      ['Print the cost in wei', 'gdn batch rehearse drop.csv --data-dir /srv/gdn --json | jq -r .cost_wei'],
    ],
    aliases: TARGET_ALIASES,
  })
    .argument('<manifest>')
    .with(addTargetFlags, addCheckFlag, addRunFlags, addStoredFilesFlags)
    .valueFlag('--config <file>', 'Configuration of the backend (backend.yaml in the data directory)', notEmpty)
    .with(addDataDirFlag, addStateDirFlag, addOutputFlags)
    .action(async (manifest: string, flags: RehearseFlags) => await run(deps, manifest, flags))
}

export async function rehearse(deps: Deps, manifest: string, flags: RehearseFlags): Promise<void> {
  const output = createOutput(deps.io, flags, REHEARSAL_VIEW, { manifest })
  if (manifest === '-') {
    throw new GdnError('usage', "a manifest from standard input can't be rehearsed", {
      hint: 'Write the manifest to a file first.',
    })
  }
  const { contract, blockchain } = await deps.settings(flags)
  if (contract === null || blockchain === null) {
    const flag = contract === null ? '--contract' : '--blockchain'
    throw missingCollectionError(flag, 'Add --contract <address> and --blockchain <name>.')
  }
  if (!isEvm(blockchain.value)) {
    throw new GdnError('usage', `drops on ${blockchain.value} can't be rehearsed: only EVM networks can be copied`, {
      place: { flag: '--blockchain' },
      hint: 'Run `gdn batch mint --dry-run` to show the plan.',
    })
  }
  const target = { blockchain: blockchain.value, contract: contract.value }
  const place = await resolveAdministeredDatabase(deps, flags)
  const { runRehearsal } = await import('../../batch/run-rehearsal.ts')
  const { report, failure } = await runRehearsal(deps, manifest, flags, { ...target, place })
  await output.one(report)
  deps.io.note(`Nothing was sent to ${target.blockchain}.`)
  if (failure !== null) throw failure
}
