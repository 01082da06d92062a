import { ZERO_ADDRESS } from '../../api/address.ts'
import type { EventType } from '../../api/webhook-events.ts'

/** The ID in test events. No NFT or collection has this ID. */
const SAMPLE_ID = '00000000-0000-0000-0000-000000000000'
const SAMPLE_WALLET = '0x0000000000000000000000000000000000000001'
const SAMPLE_HASH = `0x${'0'.repeat(64)}`

/** Returns sample data for an event type. The fields match those of a real event, but the objects don't exist. */
export function sampleData(type: EventType, webhookId: string): object {
  const [kind, outcome] = type.split('.')
  if (kind === 'webhook') return { webhook_id: webhookId, message: 'This is a test.' }
  const isFailed = outcome === 'failed'
  const errorFields = isFailed ? { error: 'This is a test.' } : {}
  const status = { status: outcome }
  const collection = { contract_address: ZERO_ADDRESS, blockchain: 'polygon' }
  const transaction = { ...status, transaction_hash: isFailed ? null : SAMPLE_HASH, ...errorFields }
  const metadata = { title: 'Test', description: 'This is a test.', file_fields: [] }
  const fileFields = { metadata_url: isFailed ? null : `ipfs://bafybei${'a'.repeat(52)}/0.json` }
  const nft = { nft_gdn_id: SAMPLE_ID, token_id: isFailed && kind === 'nft' ? null : '1' }
  switch (kind) {
    case 'nft':
      return {
        ...nft,
        ...collection,
        receiver_wallet_address: SAMPLE_WALLET,
        ...status,
        request_metadata: metadata,
        ...fileFields,
        minted_to: SAMPLE_WALLET,
        revision: 0,
        transfers: 0,
        is_dynamic: false,
        is_frozen: false,
        burned: false,
        ...errorFields,
      }
    case 'collection':
      return {
        transaction_gdn_id: SAMPLE_ID,
        contract_address: isFailed ? null : ZERO_ADDRESS,
        name: 'Test',
        blockchain: 'polygon',
        wallet_address: SAMPLE_WALLET,
        enable_api: true,
        enable_transfer: true,
        is_locked: false,
        description: '',
        image: '',
        ...status,
        is_dynamic: false,
        is_frozen: false,
        enable_burn: false,
        royalty_bps: 0,
        royalty_receiver: null,
        max_supply: null,
        ...errorFields,
      }
    case 'transfer':
      return {
        transaction_gdn_id: SAMPLE_ID,
        ...nft,
        ...collection,
        sender_wallet_address: SAMPLE_WALLET,
        receiver_wallet_address: SAMPLE_WALLET,
        ...transaction,
      }
    case 'burn':
      return {
        transaction_gdn_id: SAMPLE_ID,
        ...nft,
        ...collection,
        holder_wallet_address: SAMPLE_WALLET,
        ...transaction,
      }
    case 'provenance':
      return {
        transaction_gdn_id: SAMPLE_ID,
        provenance: SAMPLE_HASH,
        first_token_id: '1',
        ...collection,
        ...transaction,
      }
    case 'update':
      return {
        transaction_gdn_id: SAMPLE_ID,
        ...nft,
        ...collection,
        request_metadata: metadata,
        ...fileFields,
        revision: 1,
        ...transaction,
      }
    default:
      return { transaction_gdn_id: SAMPLE_ID, ...nft, ...collection, ...transaction }
  }
}
