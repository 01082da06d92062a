import type * as z from 'zod'
import { addressProblem, anyAddressProblem } from './address.ts'
import { type Blockchain, isEvm } from './blockchains.ts'

/**
 * Returns an object-level check that the named fields are addresses on the object's blockchain, or EVM addresses if the
 * object has no blockchain. Optional fields may be absent.
 */
export const checkAddresses = <Field extends string>(...fields: readonly Field[]) =>
  checkFields(fields, (value) => addressProblem(value, 'polygon'))

/**
 * Like `checkAddresses`, but if the object has no blockchain, accepts addresses of any blockchain, because its NFTs may
 * be on Solana.
 */
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
      // The address is valid, but belongs to another blockchain (API reference v1.1, Blockchain identifiers).
      const inconsistent =
        field === 'contract_address' && blockchain !== undefined && isOfOtherBlockchain(value, blockchain)
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

/**
 * Returns whether an address is valid on the other kind of blockchain: on Solana if the blockchain is EVM, or on EVM if
 * it is Solana.
 */
function isOfOtherBlockchain(address: string, blockchain: Blockchain): boolean {
  return addressProblem(address, isEvm(blockchain) ? 'solana' : 'polygon') === null
}
