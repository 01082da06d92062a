import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import type { Counts, NftSummary, Status } from '../../server/explorer/types.ts'
import { count } from '../format.ts'
import { useBack } from '../live.ts'
import { isReturning } from '../navigate.ts'
import { Filter } from '../parts/filter.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty } from '../parts/notice.tsx'
import { STATUSES, statusWord, totalOf } from '../parts/status.tsx'
import { Gallery } from './gallery.tsx'
import { sourceOf } from './kept-sources.ts'
import type { View } from './tile.tsx'

const WAIT_MS = 220
/** While NFTs are being minted, what is in sight is read again this often, and no more. */
const REFRESH_MS = 1500

export interface NftListProps<Item extends NftSummary> {
  /** Of the list, below `/explorer/`. */
  path: string
  /** How many there are by status, where that is known; a filter by status is offered then. */
  counts?: Counts | undefined
  label: string
  /** Whether titles can be searched. */
  searchable?: boolean
  status?: Status | undefined
  noteOf?: (item: Item) => string | undefined
}

/** What was chosen last, here or in another list. */
let lastView: View = 'grid'
/** What each list was filtered by, for who comes back to it. */
const filters = new Map<string, { status: Status | ''; q: string }>()

/** A gallery with what finds one's way in it: a filter by status, a search, pictures or rows. */
export function NftList<Item extends NftSummary>({
  path,
  counts,
  label,
  searchable = true,
  noteOf,
}: NftListProps<Item>) {
  const kept = isReturning() ? filters.get(path) : undefined
  const [view, setView] = useState(lastView)
  const [status, setStatus] = useState<Status | ''>(kept?.status ?? '')
  const [text, setText] = useState(kept?.q ?? '')
  const [q, setQ] = useState(text)
  const [, draw] = useReducer((n: number) => n + 1, 0)
  filters.set(path, { status, q })
  useEffect(() => {
    const timer = setTimeout(() => setQ(text.trim()), WAIT_MS)
    return () => clearTimeout(timer)
  }, [text])
  const source = sourceOf<Item>(path, { status: status === '' ? undefined : status, ...(searchable && sought(q)) })
  useEffect(() => source.listen(() => draw(0)), [source])
  useBack(() => source.refresh())
  useRefresh(counts, () => source.refresh())

  const choose = (next: View) => {
    lastView = next
    setView(next)
  }
  return (
    <section class="nft-list" aria-label="NFTs">
      <div class="toolbar">
        {counts === undefined ? (
          <span class="tabs" />
        ) : (
          <fieldset class="tabs" aria-label="Status">
            {(['', ...STATUSES] as const).map((one) => (
              <button key={one} type="button" class="tab" aria-pressed={status === one} onClick={() => setStatus(one)}>
                {one === '' ? 'All' : statusWord(one)}{' '}
                <span class="count">{count(one === '' ? totalOf(counts) : counts[one])}</span>
              </button>
            ))}
          </fieldset>
        )}
        <div class="tools">
          {searchable && (
            <Filter label="Find by title, token id or owner" placeholder="Find in here" text={text} onText={setText} />
          )}
          <fieldset class="switch" aria-label="Show as">
            {(['grid', 'list'] as const).map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={view === one}
                aria-label={one === 'grid' ? 'Pictures' : 'Rows'}
                title={one === 'grid' ? 'Pictures' : 'Rows'}
                onClick={() => choose(one)}
              >
                <Icon name={one} size={16} />
              </button>
            ))}
          </fieldset>
        </div>
      </div>
      <span class="visually-hidden" role="status">
        {source.total === null ? '' : `${count(source.total)} NFTs`}
      </span>
      {source.error !== null && (
        <p class="inline-error" role="alert">
          <Icon name="alert" size={16} /> {source.error.message} Trying again…
        </p>
      )}
      {source.total === 0 ? (
        <Empty icon="picture" title={status === '' && q === '' ? 'No NFTs yet' : 'None of that kind'} />
      ) : (
        <Gallery key={`${path} ${status} ${q}`} source={source} view={view} label={label} {...(noteOf && { noteOf })} />
      )}
    </section>
  )
}

/** An address is that of an owner; anything else is looked for in titles and token ids. */
const sought = (q: string) => (/^(0x[0-9a-f]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/i.test(q) ? { owner: q } : { q })

/** Refreshes when counts have changed since: at once, and then now and again while they go on changing. */
function useRefresh(counts: Counts | undefined, refresh: () => void): void {
  const text = counts === undefined ? undefined : JSON.stringify(counts)
  const before = useRef(text)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const run = useRef(refresh)
  run.current = refresh
  useEffect(() => {
    const isFirst = before.current === undefined
    const isSame = before.current === text
    before.current = text
    if (isFirst || isSame) return
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      run.current()
    }, REFRESH_MS)
  }, [text])
  useEffect(() => () => clearTimeout(timer.current), [])
}
