import type * as z from 'zod'
import { addressProblem, anyAddressProblem } from './address.ts'
import { type Blockchain, isEvm } from './blockchains.ts'

/**
 * An object-level check that the named fields are addresses of the object's blockchain, and of an EVM blockchain if it
 * has none. Optional fields may be absent.
 */
export const checkAddresses = <Field extends string>(...fields: readonly Field[]) =>
  checkFields(fields, (value) => addressProblem(value, 'polygon'))

/** Same, but an object without a blockchain may have addresses of any: its NFTs may be on Solana. */
export const checkAnyAddresses = <Field extends string>(...fields: readonly Field[]) =>
  checkFields(fields, anyAddressProblem)

function checkFields<Field extends string>(
  fields: readonly Field[],
  problemWithoutBlockchain: (address: string) => string | null,
) {
  return (
    context: z.core.ParsePayload<{ blockchain?: Blockchain | undefined } & { [Name in Field]?: string | undefined }>,
  ) => {
    const { blockchain } = context.value
    for (const field of fields) {
      const value: string | undefined = context.value[field]
      if (value === undefined) continue
      const problem = blockchain === undefined ? problemWithoutBlockchain(value) : addressProblem(value, blockchain)
      if (problem === null) continue
      // The address is valid, but the collection is on another blockchain (API reference v1.1, Blockchain identifiers).
      const inconsistent = field === 'contract_address' && blockchain !== undefined && isElsewhere(value, blockchain)
      context.issues.push({
        code: 'custom',
        path: [field],
        message: inconsistent ? `and blockchain are inconsistent: ${value} ${problem}` : problem,
        input: value,
        params: { inconsistent },
      })
    }
  }
}

/** Whether an address is valid on the other kind of blockchain: Solana's on an EVM blockchain, or the reverse. */
function isElsewhere(address: string, blockchain: Blockchain): boolean {
  return addressProblem(address, isEvm(blockchain) ? 'solana' : 'polygon') === null
}
