import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { isSameAddress } from '../../api/same-address.ts'
import type { BatchOptions } from '../../batch/types.ts'
import { isRestored } from '../../client/backend.ts'
import type { Settings } from '../../config/settings.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { shellWord } from '../../core/shell-word.ts'
import { LocalContents } from '../../files/local-content.ts'
import { runOrigin } from '../../operations/run-origin.ts'
import type { NftChange } from '../../plan/compare.ts'
import { hasNoRows, type PlanHeader, readPlan, readPlanHeader } from '../../plan/plan-file.ts'
import type { ChangePlan } from '../../plan/planned.ts'
import { openManifest } from '../batch/mint-manifest.ts'
import type { Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import type { PlanFlags, PlanSource } from './open-plan.ts'

/**
 * Opens a manifest or a saved plan.
 *
 * @throws GdnError `usage`, `invalid_manifest`, `unreachable`, `wrong_backend`; `refused` if the plan can't be applied
 */
export async function openPlanSource(
  deps: Deps,
  manifest: string,
  flags: PlanFlags & { prune?: boolean },
): Promise<PlanSource & { settings: Settings; takeOver: boolean }> {
  const path = resolve(deps.cwd, manifest)
  const { signal } = deps.signals
  const header = manifest === '-' ? null : await readPlanHeader(path, signal)
  if (manifest !== '-' && !existsSync(path)) {
    throw new GdnError('invalid_manifest', "doesn't exist", {
      place: { file: manifest },
      hint: 'Use the path of a manifest, or of a plan that `gdn plan <manifest> --out <file>` saved.',
    })
  }
  const takeOver = flags.takeOver === true
  const contents = new LocalContents(signal)
  if (header === null && flags.prune === true) {
    throw new GdnError('usage', 'NFTs can be burned only with a saved plan', {
      place: { flag: '--prune' },
      hint: `Nothing was sent. Run \`gdn plan ${shellWord(safe(manifest))} --prune --out plan.json\`, review it, and apply plan.json.`,
    })
  }
  if (header === null && manifest !== '-' && flags.map === undefined && (await hasNoRows(path))) {
    throw new GdnError('invalid_manifest', 'is neither a saved plan nor a manifest', {
      place: { file: manifest },
      hint: 'Nothing was sent. Use the path of a manifest, or of a plan that `gdn plan <manifest> --out <file>` saved.',
    })
  }
  if (header === null) return { ...(await openManifest(deps, manifest, flags)), takeOver, contents }
  const settings = await deps.settings(flags)
  const options = await resolveOptions(deps, settings, flags, header)
  return {
    settings,
    options,
    contents,
    takeOver: header.take_over,
    isSaved: true,
    prune: header.prune,
    adoptLabels: header.adopt,
    newRows: header.new_rows,
    allowDuplicates: header.allow_duplicates,
    read: (saved) => readPlan(path, header, { contents, saved, fileFolders: [deps.cwd], signal }),
  }
}

/**
 * Returns the run options of a saved plan.
 *
 * @throws GdnError `usage` if a flag conflicts with the plan, `unreachable`, `wrong_backend`, `refused`
 */
async function resolveOptions(
  deps: Deps,
  settings: Settings,
  flags: PlanFlags & { prune?: boolean },
  header: PlanHeader,
): Promise<BatchOptions> {
  const { contract_address: contract, blockchain } = header
  if (flags.contract !== undefined && !isSameAddress(flags.contract, contract)) {
    throw otherPlanError('--contract', `the plan is for the collection ${contract}`)
  }
  if (flags.blockchain !== undefined && flags.blockchain !== blockchain) {
    throw otherPlanError('--blockchain', `the plan is for ${blockchain}`)
  }
  if (flags.run !== undefined && flags.run !== header.run)
    throw otherPlanError('--run', 'the plan is for a different run')
  if (flags.takeOver === true && !header.take_over) {
    throw otherPlanError('--take-over', 'the plan was created without --take-over')
  }
  if (flags.adopt === true && header.adopt.length === 0 && !header.moved) {
    throw otherPlanError('--adopt', 'the plan was created without --adopt, or has nothing to adopt')
  }
  if (flags.newRows === true && !header.new_rows) {
    throw otherPlanError('--new-rows', 'the plan was created without --new-rows')
  }
  if (flags.prune === true && !header.prune) throw otherPlanError('--prune', 'the plan was created without --prune')
  const { receiver, sender, map, unknownColumns } = flags
  const flagValues = { '--receiver': receiver, '--sender': sender, '--map': map, '--unknown-columns': unknownColumns }
  const ofRows = Object.entries(flagValues).find(([, value]) => value !== undefined)
  if (ofRows !== undefined) throw otherPlanError(ofRows[0], 'the plan already contains the rows of the manifest')
  const server = await settings.server()
  const backend = await deps.identify(server, 'patiently')
  if (backend.silence !== null) throw backend.silence
  const origin = runOrigin(server, backend)
  const isSame = header.backend_id === null ? header.origin === origin : header.backend_id === backend.id
  if (!isSame) {
    throw new GdnError('wrong_backend', `the plan was created for ${header.url}, not for ${backend.url}`, {
      hint: 'Nothing was sent. Select the server of the plan with --local or --base-url <url>.',
    })
  }
  if (isRestored(header, backend)) {
    throw new GdnError('refused', 'the backend was restored from a backup after the plan was created', {
      hint: REPLAN_HINT,
    })
  }
  const { run, label, manifest: manifestPath } = header
  return {
    ...flags,
    stateDir: settings.stateDir,
    origin,
    backend,
    blockchain,
    contractAddress: contract,
    manifestPath,
    label,
    adopt: header.moved,
    // Permit the new rows, because the saved plan already lists them.
    newRows: true,
    runName: run ?? flags.run,
  }
}

const otherPlanError = (flag: string, message: string) =>
  flagError(flag, message, 'Nothing was sent. Omit the flag, or create another plan.')

const REPLAN_HINT = 'Nothing was sent. Run `gdn plan <manifest> --out <file>` again, and review the plan.'

/** Maximum number of changed rows that the error lists. */
const MAX_LISTED_CHANGES = 10

/** Returns the place of a change for messages: the line of its row, or the row's key if the row was removed. */
export const changePlace = ({ line, key }: { line: number | null; key: string } = { line: null, key: '' }): string =>
  line === null ? `row ${safe(key)}` : `line ${line}`

/** Returns the fields of a change for machine-readable output, without the fields of its row. */
export const changeRecord = (change: NftChange) => ({
  nft_gdn_id: change.nftGdnId,
  token_id: change.tokenId,
  revision: change.revision,
  changes: change.fields,
  reason: change.reason,
  reference_id: change.reference,
})

/** Returns the error for a saved plan whose rows have changed since it was saved. */
export function changedPlanError({ count, rows }: ChangePlan['changedSinceSaved']): GdnError {
  const shownRows = rows.slice(0, MAX_LISTED_CHANGES).map((row) => `${changePlace(row)} (${row.what})`)
  if (count > shownRows.length) shownRows.push(`and ${count - shownRows.length} more`)
  const list = shownRows.length === 1 ? ` ${shownRows[0]}` : shownRows.map((text) => `\n  ${text}`).join('')
  return new GdnError('refused', `rows changed after the plan was created:${list}`, {
    hint: REPLAN_HINT,
    details: {
      count,
      rows: rows.map(({ changes, ...row }) => ({
        ...row,
        changes: changes.map((change) => ({ action: change.action, want: change.want, ...changeRecord(change) })),
      })),
    },
  })
}
