import { useEffect, useState } from 'preact/hooks'
import type { NftDetails as NftFacts } from '../../server/explorer/types.ts'
import { bytes, groupDigits } from '../format.ts'
import { useEvent } from '../live.ts'
import { go } from '../navigate.ts'
import { History, Transactions } from '../parts/chain-history.tsx'
import { Heading } from '../parts/heading.tsx'
import { Icon } from '../parts/icon.tsx'
import { typeName } from '../parts/image.tsx'
import { Json } from '../parts/json.tsx'
import { LongText } from '../parts/long-text.tsx'
import { Fact, Facts, Failure, Skeleton } from '../parts/notice.tsx'
import { Shuffle } from '../parts/shuffle.tsx'
import { Burned, StatusBadge } from '../parts/status.tsx'
import { Ago, Chain, Id, Owner, Title } from '../parts/text.tsx'
import { Download, Viewer } from '../parts/viewer.tsx'
import { useResource } from '../resource.ts'
import { pathTo } from '../routes.ts'
import { useTitle } from '../use-title.ts'

export function Nft({ id }: { id: string }) {
  const { data, error, reload, set } = useResource<NftFacts>(`nfts/${encodeURIComponent(id)}`)
  useTitle(data?.title)
  useEvent('nft', set)
  useArrows(data)
  if (error !== undefined && data === undefined) return <Failure error={error} what="NFT" retry={reload} />
  if (data === undefined) return <NftSkeleton />
  return (
    <article class="nft">
      <div class="crumbs">
        <a href={pathTo.collection(data.collection.transaction_gdn_id)} class="crumb">
          <Icon name="left" size={15} />
          <span class="crumb-words">
            <Title text={data.collection.name} />
          </span>
        </a>
        <div class="neighbors">
          <AdjacentNft id={data.previous} name="left" words="Previous NFT" />
          <AdjacentNft id={data.next} name="right" words="Next NFT" />
        </div>
      </div>
      <div class="nft-columns">
        <div class="nft-media">
          <Viewer key={data.nft_gdn_id} media={data.media} title={data.title} isFinal={data.status !== 'initiated'} />
        </div>
        <div class="nft-words">
          <Words nft={data} />
        </div>
      </div>
      <div class="nft-columns below">
        <div>
          <Files nft={data} />
          <Metadata nft={data} />
        </div>
        <div>
          {data.shuffle !== null && <Shuffle shuffle={data.shuffle} token={nameOnChain(data)} />}
          <section aria-labelledby="history">
            <h2 id="history">History</h2>
            <History events={data.history} />
            {data.history_left_out && <p class="faint">For earlier events, run gdn nft history.</p>}
          </section>
          <section aria-labelledby="transactions">
            <h2 id="transactions">Transactions</h2>
            <Transactions transactions={data.transactions} />
          </section>
        </div>
      </div>
    </article>
  )
}

const nameOnChain = ({ token_id: id, collection }: NftFacts) =>
  id === null ? null : `${collection.contract_address}/${id}`

function Words({ nft }: { nft: NftFacts }) {
  const { title, status, error, description, attributes, token_id: tokenId } = nft
  return (
    <>
      <Heading text={title} />
      <div class="chips">
        {nft.burned ? <Burned /> : <StatusBadge status={status} />}
        <Chain name={nft.collection.blockchain} />
        {nft.is_frozen ? (
          <span class="chip" title="The metadata is final">
            <Icon name="lock" size={13} /> Frozen
          </span>
        ) : (
          nft.is_dynamic &&
          !nft.burned && (
            <span class="chip" title="The metadata can be updated">
              Dynamic
            </span>
          )
        )}
        {nft.revision > 0 && <span class="chip">Updated</span>}
        {status === 'initiated' && <span class="chip">{STEPS[nft.step] ?? nft.step}</span>}
      </div>
      {error !== null && <p class={status === 'failed' ? 'reason' : 'reason waiting'}>{error}</p>}
      {nft.next_attempt_at !== null && status === 'initiated' && (
        <p class="faint">
          Next attempt <Ago time={nft.next_attempt_at} />
        </p>
      )}
      {nft.is_outdated && (
        <p class="reason waiting">
          The last update was made elsewhere, so this page shows earlier metadata. The metadata URL returns the current
          metadata.
        </p>
      )}
      {description !== null && description !== '' && <LongText text={description} />}
      {attributes.length > 0 && (
        <section aria-labelledby="attributes">
          <h2 id="attributes">Attributes</h2>
          <dl class="attributes">
            {attributes.map(({ trait_type: trait, value }, index) => (
              <div class="attribute" key={`${index} ${trait}`}>
                <dt dir="auto">{trait}</dt>
                <dd dir="auto">{String(value)}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
      <section aria-labelledby="details">
        <h2 id="details">Details</h2>
        <Facts>
          {!nft.burned && (
            <Fact name={status === 'deployed' ? 'Owner' : 'Receiver'}>
              <Owner address={nft.owner} />
              {nft.owner_name !== null && (
                <>
                  {' '}
                  <bdi>{nft.owner_name}</bdi>
                </>
              )}
            </Fact>
          )}
          {status === 'deployed' && nft.receiver_wallet_address !== nft.owner && (
            <Fact name="Minted to">
              <Owner address={nft.receiver_wallet_address} />
            </Fact>
          )}
          <Fact name="Token ID">
            {tokenId === null ? (
              <span class="faint">{status === 'failed' ? 'Not minted' : 'Not minted yet'}</span>
            ) : (
              <Id text={tokenId} what="token ID" />
            )}
          </Fact>
          <Fact name="Contract">
            <Id text={nft.collection.contract_address} what="contract address" />
          </Fact>
          <Fact name="NFT ID">
            <Id text={nft.nft_gdn_id} what="NFT ID" />
          </Fact>
          {nft.run !== null && (
            <Fact name="Run">
              <Id text={nft.run} what="run" href={pathTo.run(nft.run)} />
            </Fact>
          )}
          <Fact name="Accepted">
            <Ago time={nft.accepted_at} />
          </Fact>
        </Facts>
      </section>
    </>
  )
}

const STEPS: Readonly<Record<string, string>> = {
  files: 'Fetching files',
  mint: 'Waiting to be minted',
  chain: 'Waiting for confirmations',
  done: 'Done',
}

function AdjacentNft({ id, name, words }: { id: string | null; name: 'left' | 'right'; words: string }) {
  if (id === null) {
    return (
      <span class="icon-button off" aria-hidden="true">
        <Icon name={name} />
      </span>
    )
  }
  const key = name === 'left' ? 'ArrowLeft' : 'ArrowRight'
  return (
    <a class="icon-button" href={pathTo.nft(id)} aria-label={words} aria-keyshortcuts={key} title={words}>
      <Icon name={name} />
    </a>
  )
}

/** Lets the arrow keys switch between NFTs, unless another element uses these keys. */
function useArrows(nft: NftFacts | undefined): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
      const { target } = event
      if (target !== document.body && !(target instanceof HTMLElement && target.id === 'main')) return
      const id = event.key === 'ArrowLeft' ? nft?.previous : event.key === 'ArrowRight' ? nft?.next : null
      if (id != null) go(pathTo.nft(id))
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [nft])
}

const notStored = ({ status }: NftFacts) => (status === 'initiated' ? 'Not stored yet' : 'Not stored here')

function Files({ nft }: { nft: NftFacts }) {
  if (nft.media.length === 0) return null
  return (
    <section aria-labelledby="files">
      <h2 id="files">Files</h2>
      <ul class="rows">
        {nft.media.map((media) => (
          <li key={media.field} class="row">
            <div class="row-main">
              <b>
                <bdi>{media.field}</bdi>
              </b>
              <span class="faint">
                {media.url === null ? notStored(nft) : typeName(media)}
                {media.width !== null &&
                  media.height !== null &&
                  ` · ${groupDigits(media.width)} × ${groupDigits(media.height)}`}
                {media.size !== null && ` · ${bytes(media.size)}`}
              </span>
            </div>
            <Download media={media} small />
            <div class="row-id">
              {media.cid !== null && <Id text={media.cid} what="CID" head={10} tail={8} />}
              {media.source !== `ipfs://${media.cid}` && (
                <span class="source faint" title={media.source}>
                  from <bdi>{media.source}</bdi>
                </span>
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

type MetadataPart = 'stored' | 'sent'

/** Shows the stored metadata file and the metadata of the last request. */
function Metadata({ nft }: { nft: NftFacts }) {
  const [shown, setShown] = useState<MetadataPart | null>(null)
  const { metadata_url: url, metadata_path: path } = nft
  const toggle = (part: MetadataPart) => setShown(shown === part ? null : part)
  return (
    <section aria-labelledby="metadata">
      <h2 id="metadata">Metadata</h2>
      {url !== null && (
        <div class="row-id">
          <Id text={url} what="metadata URL" head={18} tail={12} />
        </div>
      )}
      <div class="buttons">
        {path !== null && (
          <button type="button" class="button" aria-expanded={shown === 'stored'} onClick={() => toggle('stored')}>
            <Icon name={shown === 'stored' ? 'down' : 'right'} size={14} /> As stored
          </button>
        )}
        <button type="button" class="button" aria-expanded={shown === 'sent'} onClick={() => toggle('sent')}>
          <Icon name={shown === 'sent' ? 'down' : 'right'} size={14} /> As sent
        </button>
        {path !== null && (
          <a class="button" href={path} download="metadata.json">
            <Icon name="download" size={16} /> JSON
          </a>
        )}
      </div>
      {shown === 'sent' && <Json value={nft.request_metadata} what="metadata" />}
      {shown === 'stored' && path !== null && <Stored path={path} />}
    </section>
  )
}

function Stored({ path }: { path: string }) {
  const [state, setState] = useState<{ value: unknown } | { error: string } | null>(null)
  useEffect(() => {
    const request = new AbortController()
    const read = async () => {
      try {
        const response = await fetch(path, { signal: request.signal })
        if (!response.ok) throw new Error(`The server returned HTTP ${response.status}.`)
        setState({ value: await response.json() })
      } catch (error) {
        if (!request.signal.aborted) setState({ error: error instanceof Error ? error.message : String(error) })
      }
    }
    void read()
    return () => request.abort()
  }, [path])
  if (state === null) return <Skeleton width="100%" height="8rem" />
  if ('error' in state) return <p class="reason">{state.error}</p>
  return <Json value={state.value} what="metadata" />
}

const NftSkeleton = () => (
  <div class="nft" aria-busy="true">
    <div class="crumbs">
      <Skeleton width="8rem" />
    </div>
    <div class="nft-columns">
      <div class="nft-media">
        <div class="stage">
          <span class="bone fill" />
        </div>
      </div>
      <div class="nft-words">
        <Skeleton width="70%" height="2.3rem" />
        <div class="chips">
          <Skeleton width="6rem" height="1.5rem" />
        </div>
        <Skeleton width="100%" height="5rem" />
      </div>
    </div>
  </div>
)
