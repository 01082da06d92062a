import type { RunningBackend } from '../../../config/local-backend.ts'
import type { DataRecord, View } from '../../render/view.ts'

const FIELDS = ['running', 'url', 'data_dir', 'pid']

export const BACKEND_VIEW: View = { fields: FIELDS, columns: FIELDS, id: 'url' }

export function backendData(backend: Pick<RunningBackend, 'url' | 'pid'> | null, dataDir: string): DataRecord {
  return { running: backend !== null, url: backend?.url ?? null, data_dir: dataDir, pid: backend?.pid ?? null }
}
