import { addAddress } from '../../src/state/addresses.ts'
import { openState } from '../../src/state/open-state.ts'

/** Saves addresses by name in a state directory, like `gdn wallet add`. */
export async function saveAddresses(stateDir: string, addresses: Readonly<Record<string, string>>): Promise<void> {
  const state = await openState(stateDir)
  try {
    await state.write((sql) => {
      for (const [name, address] of Object.entries(addresses)) addAddress(sql, { name, address, created_at: 0 })
    })
  } finally {
    state.close()
  }
}
