import { type GdnCommand, switchFlag } from '../command.ts'

export const addWatchFlag = (command: GdnCommand): GdnCommand =>
  switchFlag(command, '--watch', 'Show changes until nothing is in progress, or until Ctrl-C')
