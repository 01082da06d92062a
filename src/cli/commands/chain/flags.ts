import type { BackendFlags } from '../../connect/data-dir.ts'
import type { OutputFlags } from '../../flags/common.ts'

export interface SetupFlags extends OutputFlags, BackendFlags {
  adminKeystore?: string
  passwordFile?: string
  factory?: string
  dryRun?: boolean
  yes?: boolean
  timeout?: number
}

export type StatusFlags = OutputFlags & BackendFlags
