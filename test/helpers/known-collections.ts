import { type KnownCollectionOfServer, storeKnownCollection } from '../../src/state/known-collections.ts'
import { openState } from '../../src/state/open-state.ts'

/** Adds collections of a server to a state directory, like `gdn collection create`. */
export async function enterCollections(
  stateDir: string,
  ...collections: readonly Partial<KnownCollectionOfServer>[]
): Promise<void> {
  const state = await openState(stateDir)
  try {
    await state.write((sql) => {
      for (const { origin = 'https://a.test', url = null, ...known } of collections) {
        storeKnownCollection(
          sql,
          { origin, url },
          {
            transaction_gdn_id: 't-1',
            contract_address: null,
            name: 'Tidal Hours',
            blockchain: 'polygon',
            wallet_address: '',
            created_at: '2026-01-31T12:00:00Z',
            ...known,
          },
        )
      }
    })
  } finally {
    state.close()
  }
}
