import type { GdnCommand } from '../command.ts'

export const addWatchFlag = (command: GdnCommand): GdnCommand =>
  command.switchFlag('--watch', 'Show changes until nothing is in progress or you press Ctrl-C')
