export interface Drop {
  /** Of the backend, without a slash at the end. */
  url: string
  blockchain: string
  contract: string
  nfts: readonly { token_id: string; metadata_url: string; request_metadata: { title: string } }[]
  rows: readonly Record<string, string>[]
  /** To which the paths in the rows are relative. */
  folder: string
}

export function verifyDrop(drop: Drop): Promise<string[]>
