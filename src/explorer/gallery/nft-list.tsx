import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import type { Counts, NftSummary, Status } from '../../server/explorer/types.ts'
import { groupDigits } from '../format.ts'
import { useReconnect } from '../live.ts'
import { isReturning } from '../navigate.ts'
import { Filter } from '../parts/filter.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty } from '../parts/notice.tsx'
import { countTotal, STATUSES, statusWord } from '../parts/status.tsx'
import { Gallery } from './gallery.tsx'
import { getSource } from './kept-sources.ts'
import type { View } from './tile.tsx'

const SEARCH_DELAY_MS = 220
/** Interval in milliseconds between refreshes while NFTs are being minted. */
const REFRESH_MS = 1500

export interface NftListProps<Item extends NftSummary> {
  /** Path of the list, below `/explorer/`. */
  path: string
  /** Counts by status. If they are known, the list can be filtered by status. */
  counts?: Counts | undefined
  /** Number of deployed NFTs that were burned later. */
  burned?: number | undefined
  label: string
  /** Whether the list has a search field. */
  searchable?: boolean
  status?: Status | undefined
  noteOf?: (item: Item) => string | undefined
}

/** The last view that the user chose, in any list. */
let lastView: View = 'grid'
/** The filters of each list. They are restored when the user goes back to the list. */
const filters = new Map<string, { status: Status | ''; q: string }>()

/** A gallery with controls: a status filter, a search field, and a switch between images and rows. */
export function NftList<Item extends NftSummary>({
  path,
  counts,
  burned = 0,
  label,
  searchable = true,
  noteOf,
}: NftListProps<Item>) {
  const lastFilter = isReturning() ? filters.get(path) : undefined
  const [view, setView] = useState(lastView)
  const [status, setStatus] = useState<Status | ''>(lastFilter?.status ?? '')
  const [text, setText] = useState(lastFilter?.q ?? '')
  const [q, setQ] = useState(text)
  const [, draw] = useReducer((n: number) => n + 1, 0)
  filters.set(path, { status, q })
  useEffect(() => {
    const timer = setTimeout(() => setQ(text.trim()), SEARCH_DELAY_MS)
    return () => clearTimeout(timer)
  }, [text])
  const source = getSource<Item>(path, {
    status: status === '' ? undefined : status,
    ...(searchable && searchFilter(q)),
  })
  useEffect(() => source.listen(() => draw(0)), [source])
  useReconnect(() => source.refresh())
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
            {(['', ...STATUSES] as const).map((option) => (
              <button
                key={option}
                type="button"
                class="tab"
                aria-pressed={status === option}
                onClick={() => setStatus(option)}
              >
                {option === ''
                  ? 'All'
                  : option === 'deployed' && burned > 0
                    ? 'Deployed or burned'
                    : statusWord(option)}{' '}
                <span class="count">{groupDigits(option === '' ? countTotal(counts) : counts[option])}</span>
              </button>
            ))}
          </fieldset>
        )}
        <div class="tools">
          {searchable && (
            <Filter
              label="Find by title, token ID or owner"
              placeholder="Find in this list"
              text={text}
              onText={setText}
            />
          )}
          <fieldset class="switch" aria-label="Show as">
            {(['grid', 'list'] as const).map((option) => (
              <button
                key={option}
                type="button"
                aria-pressed={view === option}
                aria-label={option === 'grid' ? 'Grid' : 'List'}
                title={option === 'grid' ? 'Grid' : 'List'}
                onClick={() => choose(option)}
              >
                <Icon name={option} size={16} />
              </button>
            ))}
          </fieldset>
        </div>
      </div>
      <span class="visually-hidden" role="status">
        {source.total === null ? '' : `${groupDigits(source.total)} NFTs`}
      </span>
      {source.error !== null && (
        <p class="inline-error" role="alert">
          <Icon name="alert" size={16} /> {source.error.message} Trying again…
        </p>
      )}
      {source.total === 0 ? (
        <Empty icon="image" title={status === '' && q === '' ? 'No NFTs yet' : 'No matching NFTs'} />
      ) : (
        <Gallery key={`${path} ${status} ${q}`} source={source} view={view} label={label} {...(noteOf && { noteOf })} />
      )}
    </section>
  )
}

/** Returns the search parameter: the owner if the text is an address, or else a title or token ID. */
const searchFilter = (q: string) => (/^(0x[0-9a-f]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/i.test(q) ? { owner: q } : { q })

/** Refreshes soon after counts change, and periodically while they keep changing. */
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
