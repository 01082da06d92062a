import type { Db } from './schema.ts'

/**
 * Marks a signed URL as used. Returns false if the URL was used before, so that only one of several concurrent callers
 * gets true.
 */
export async function markSignedUrlUsed(db: Db, url: { signatureHash: string; expiresAt: number }): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('used_signed_urls')
    .values({ signature_hash: url.signatureHash, expires_at: url.expiresAt })
    .onConflict((conflict) => conflict.column('signature_hash').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Returns whether a signed URL was used, or whether a session of the web explorer ended. */
export async function isSignedUrlUsed(db: Db, signatureHash: string): Promise<boolean> {
  const used = await db
    .selectFrom('used_signed_urls')
    .select('signature_hash')
    .where('signature_hash', '=', signatureHash)
    .executeTakeFirst()
  return used !== undefined
}

/** Deletes URLs that expired before the given time. */
export async function deleteExpiredSignedUrls(db: Db, expiredBefore: number): Promise<void> {
  await db.deleteFrom('used_signed_urls').where('expires_at', '<', expiredBefore).execute()
}
