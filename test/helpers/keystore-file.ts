import { writeFile } from 'node:fs/promises'
import { encryptKeystoreJsonSync } from 'ethers'
import { privateKeyToAccount } from 'viem/accounts'

export const PASSWORD = 'correct horse'

/** Writes the keystore of a key with another library and a cheap key derivation. */
export async function writeKeystore(path: string, privateKey: `0x${string}`): Promise<void> {
  const { address } = privateKeyToAccount(privateKey)
  const scrypt = { N: 2, r: 8, p: 1 }
  await writeFile(path, encryptKeystoreJsonSync({ address, privateKey }, PASSWORD, { scrypt }), { mode: 0o600 })
}

export async function writePassword(path: string): Promise<void> {
  await writeFile(path, `${PASSWORD}\n`, { mode: 0o600 })
}
