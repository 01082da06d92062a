import { type Blockchain, isEvm } from '../../../api/blockchains.ts'
import type { KeyKind } from '../../../wallet/new-key.ts'
import type { NewWallet } from '../../../wallet/store-key.ts'
import type { DataRecord, View } from '../../render/view.ts'

export const WALLET_VIEW: View = {
  fields: ['address', 'name', 'file'],
  columns: ['name', 'address', 'file'],
  id: 'address',
  cells: (record) => ({ ...record, name: `@${record.name}` }),
  card: ({ address, name, file, private_key }) => [
    ['address', address],
    ['name', `@${name}`],
    ['file', file],
    ...(private_key === undefined ? [] : [['private_key', private_key] as const]),
  ],
}

export const walletRecord = ({ address, name, file }: Pick<NewWallet, 'address' | 'name' | 'file'>): DataRecord => ({
  address,
  name,
  file,
})

/** Returns the kind of key that a blockchain needs. An EVM key works on every EVM network. */
export const keyKind = (blockchain: Blockchain | undefined): KeyKind =>
  blockchain === undefined || isEvm(blockchain) ? 'evm' : 'solana'
