import type { GdnCommand } from '../command.ts'
import { duration } from './parse.ts'

/** Flags of commands that create or change something on a chain. */
export interface WaitFlags {
  /** False with --no-wait. */
  wait?: boolean | undefined
  /** In milliseconds. */
  timeout?: number | undefined
}

const WAITING = 'Sending and waiting'

/** Adds --timeout, which limits everything that the command waits for. */
export function addTimeoutFlag(
  command: GdnCommand,
  what = 'How long the command may take (5m after acceptance)',
): GdnCommand {
  command.endsAtTimeout = true
  return command.valueFlag('--timeout <time>', what, { group: WAITING, parse: duration })
}

/**
 * @param until the condition that the command waits for, as the end of "Wait until …"
 * @param texts descriptions of flags that have a different effect in this command
 */
export function addWaitFlags(
  command: GdnCommand,
  until = 'all NFTs are deployed',
  {
    dryRun = 'Print the request without sending it',
    noWait = 'Return when the request is accepted',
    yes = "Don't prompt before spending coins that have value",
  }: { dryRun?: string; noWait?: string; yes?: string } = {},
): GdnCommand {
  command.eitherFlag('wait', `Wait until ${until} (the default)`, noWait, WAITING)
  addTimeoutFlag(command)
  command.switchFlag('--dry-run', dryRun, WAITING)
  return command.switchFlag('-y, --yes', yes, WAITING)
}
