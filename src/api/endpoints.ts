import type { Endpoint } from './endpoint.ts'
import { createcollection } from './endpoints/createcollection.ts'
import { createnft } from './endpoints/createnft.ts'
import { createnfttrans } from './endpoints/createnfttrans.ts'
import { files } from './endpoints/files.ts'
import { getcollections } from './endpoints/getcollections.ts'
import { getisgdnnft } from './endpoints/getisgdnnft.ts'
import { getnftgdnids } from './endpoints/getnftgdnids.ts'
import { getnfts } from './endpoints/getnfts.ts'
import { getpresignedurl } from './endpoints/getpresignedurl.ts'
import { gettransactions } from './endpoints/gettransactions.ts'
import { transfernft } from './endpoints/transfernft.ts'

/** Every endpoint of the API, by name: the reference's first, then ours. */
export const ENDPOINTS = {
  createnft,
  transfernft,
  createnfttrans,
  getnftgdnids,
  getnfts,
  getisgdnnft,
  createcollection,
  getpresignedurl,
  getcollections,
  gettransactions,
  files,
} as const satisfies Record<string, Endpoint>

export type EndpointName = keyof typeof ENDPOINTS
