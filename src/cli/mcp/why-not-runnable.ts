import { count } from '../../core/count.ts'
import { isRecord } from '../../core/json.ts'
import { NOTHING_LEFT } from '../batch/nothing-left.ts'
import type { CommandOutcome } from './call.ts'
import type { Tool, Values } from './tools.ts'

/** Actions of a plan that `apply` carries out. */
const CHANGE_ACTIONS = ['mint', 'update', 'transfer', 'burn']

/** The reasons why the preview of a command can be an empty list, by command. */
const NOTHING_TO_DO: Readonly<Record<string, string>> = {
  'collection set': 'The current values already match these arguments',
  'nft update': 'The current values already match these arguments',
  'nft burn': 'Each of the NFTs is already burned',
  'nft transfer': 'The receiver already owns the NFT',
  'nft freeze': 'Each of the NFTs is already frozen or burned',
}

export const toRecords = ({ data }: CommandOutcome): Record<string, unknown>[] => (Array.isArray(data) ? data : [])

/**
 * Returns the reason why a plan can't be run or has nothing to do; null if the plan can be run.
 *
 * @param canSign whether gdn mcp has a password file
 */
export function whyNotRunnable(
  { command }: Tool,
  values: Values,
  outcome: CommandOutcome,
  canSign: boolean,
): string | null {
  if (command === 'apply') return whyApplyNotRunnable(values, outcome)
  const nothing = NOTHING_TO_DO[command]
  if (nothing !== undefined && Array.isArray(outcome.data) && outcome.data.length === 0) {
    return `${nothing}, so there is nothing to do.`
  }
  if (command.startsWith('batch ') && isFinished(outcome) && values.verify !== true) {
    return `${command === 'batch retry' ? 'There are no rows to retry' : 'The run is finished'}, so there is nothing to do.`
  }
  if (command !== 'collection set' || canSign) return null
  return 'Nothing was changed. The owner must sign the changes: ask the operator to start gdn mcp with --password-file <file>, and plan again.'
}

/** Returns whether the dry run of a batch command shows that its run is finished. */
const isFinished = ({ data }: CommandOutcome): boolean => isRecord(data) && data.order === NOTHING_LEFT

function whyApplyNotRunnable({ only, max_cost, max_burns }: Values, outcome: CommandOutcome): string | null {
  const all = toRecords(outcome).map(({ action }) => String(action))
  const actions = new Set(all)
  if (only !== 'mint' && actions.has('impossible')) {
    const mint = actions.has('mint') ? '. To mint only the new rows, pass "only": "mint"' : ''
    return `Nothing was changed, because apply makes no changes if one of them is impossible. Resolve the problems, and plan again${mint}.`
  }
  const burns = only === 'mint' ? 0 : all.filter((action) => action === 'burn').length
  if (burns > Number(max_burns ?? 0)) {
    return `Nothing was changed. The plan burns ${count(burns, 'NFT')} permanently, but max_burns permits only ${Number(max_burns ?? 0)}. Ask the user first, and plan again with max_burns ${burns}.`
  }
  const actionsToCheck = only === 'mint' ? ['mint'] : CHANGE_ACTIONS
  // A new limit has an effect even if there are no changes.
  if (max_cost !== undefined || actionsToCheck.some((action) => actions.has(action))) return null
  if (actions.has('drift')) return 'There is nothing to do.'
  if (only === 'mint' && actions.size > 0) return 'There are no rows to mint, so there is nothing to do.'
  return 'Nothing differs from the manifest, so there is nothing to do.'
}

/**
 * Matches a plan's notes on changes that were made outside the manifest and are kept. These notes contain no
 * third-party text.
 */
const KEPT_CHANGES_NOTE =
  /^gdn keeps (?:\d+ changes? made|the NFTs of removed rows if their owners were changed) outside the manifest/

/** Returns a plan's notes on changes that were made outside the manifest and are kept. */
export const keptChangesNotes = (outcome: CommandOutcome, message: (text: string) => string): string =>
  toRecords(outcome)
    .filter(({ action, reason }) => action === 'note' && KEPT_CHANGES_NOTE.test(String(reason)))
    .map(({ reason }) => ` ${message(String(reason))}.`)
    .join('')
