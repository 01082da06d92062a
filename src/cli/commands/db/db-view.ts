import type { View } from '../../render/view.ts'

export const DB_VIEW: View = {
  fields: ['database', 'kind', 'applied', 'pending', 'accounts', 'collections', 'nfts', 'processes'],
  columns: ['database', 'kind', 'pending', 'collections', 'nfts', 'processes'],
  id: 'database',
}

export const TRANSFER_VIEW: View = {
  fields: ['file', 'database', 'tables', 'rows', 'nfts', 'seconds'],
  columns: ['file', 'database', 'tables', 'rows', 'nfts', 'seconds'],
  id: 'file',
}
