import { type GdnCommand, switchFlag } from '../command.ts'

export const addWatchFlag = (command: GdnCommand): GdnCommand =>
  switchFlag(command, '--watch', 'Show changes until every status is final, or until Ctrl-C')
