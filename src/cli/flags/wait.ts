import { eitherFlag, type GdnCommand, switchFlag, valueFlag } from '../command.ts'
import { duration } from './parse.ts'

/** Flags of commands that create something on a chain. */
export interface WaitFlags {
  /** False with --no-wait. */
  wait?: boolean
  /** Milliseconds. */
  timeout?: number
}

const WAITING = 'Sending and waiting'

export function addTimeoutFlag(command: GdnCommand): GdnCommand {
  return valueFlag(command, '--timeout <time>', 'How long to wait after acceptance (5m)', {
    group: WAITING,
    parse: duration,
  })
}

export function addWaitFlags(command: GdnCommand): GdnCommand {
  eitherFlag(command, 'wait', 'Wait until it is deployed (the default)', 'Return when the request is accepted', WAITING)
  addTimeoutFlag(command)
  switchFlag(command, '--dry-run', 'Print the request, send nothing', WAITING)
  return switchFlag(command, '-y, --yes', "Don't ask before spending on a real network", WAITING)
}
