import { useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'
import type { NftSummary } from '../../server/explorer/types.ts'
import { type Grid, gridOf, heightOf, itemsBetween, type Scale, scaleOf } from './geometry.ts'
import { type Move, movedIndex } from './keys.ts'
import type { Source } from './source.ts'
import { Tile, TileSkeleton, type View } from './tile.tsx'

/** Sizes in pixels, matching the style sheet. */
const CAPTION_HEIGHT = 80
const LIST_ROW_HEIGHT = 64
const HEADER_HEIGHT = 72

const EXTRA_ROWS = 2
/** Number of placeholder rows while the total is unknown. */
const PLACEHOLDER_ROWS = 3
/** Scroll speed in pixels per millisecond above which images aren't loaded. */
const MIN_FAST_SPEED = 5
const SETTLED_MS = 90
const IDLE_MS = 160

interface ScrollPosition {
  /** Position of the window's top edge in pixels, in the list's element (`shown`) and in the whole list (`full`). */
  shown: number
  full: number
  time: number
}

export interface GalleryProps<Item extends NftSummary> {
  source: Source<Item>
  view: View
  /** Accessible name of the list. */
  label: string
  noteOf?: (item: Item) => string | undefined
}

function computeLayout(view: View, width: number): Grid {
  if (view === 'list')
    return gridOf({ width, minTile: Number.POSITIVE_INFINITY, gap: 0, heightOf: () => LIST_ROW_HEIGHT })
  const isNarrow = width < 560
  return gridOf({
    width,
    minTile: isNarrow ? 140 : 190,
    gap: isNarrow ? 12 : 20,
    heightOf: (tileWidth) => tileWidth + CAPTION_HEIGHT,
  })
}

/**
 * A gallery of any number of NFTs that scrolls with the window. Only the NFTs in view and a few around them are in the
 * document. If a list exceeds the browser's layout limit, its height is reduced. Small steps then scroll the list pixel
 * by pixel, and the scroll bar scrolls it proportionally.
 */
export function Gallery<Item extends NftSummary>({ source, view, label, noteOf }: GalleryProps<Item>) {
  const list = useRef<HTMLUListElement>(null)
  const [width, setWidth] = useState(0)
  const [, draw] = useReducer((n: number) => n + 1, 0)
  const place = useRef<ScrollPosition>({ shown: 0, full: 0, time: 0 })
  const span = useRef({ start: 0, end: 0, shift: 0, isFast: false })
  /** The index to focus, and the index of the focused item. They differ until the item to focus is loaded. */
  const active = useRef(0)
  const focused = useRef(0)
  const focusNext = useRef(false)
  const timers = useRef<{ settled?: ReturnType<typeof setTimeout>; idle?: ReturnType<typeof setTimeout> }>({})

  const grid = useMemo(() => computeLayout(view, width), [view, width])
  const total = source.total ?? grid.columns * PLACEHOLDER_ROWS
  const scale = useMemo(() => scaleOf(heightOf(grid, total)), [grid, total])
  const current = useRef({ grid, scale, total, source })
  current.current = { grid, scale, total, source }

  /** Computes the visible range. With `jumped`, derives the position in the list from the scroll bar. */
  const updateVisibleRange = useCallback((jumped = false) => {
    const { grid, scale, total, source } = current.current
    const { current: element } = list
    if (element === null || grid.tileWidth === 0) return
    const shown = -element.getBoundingClientRect().top
    const now = performance.now()
    const next = toListPosition(place.current, shown, scale, jumped)
    const speed = Math.abs(next - place.current.full) / Math.max(8, now - place.current.time)
    place.current = { shown, full: next, time: now }
    const { start, end } = itemsBetween(grid, total, next, next + innerHeight, EXTRA_ROWS)
    const before = span.current
    const isFast = speed > MIN_FAST_SPEED
    span.current = { start, end, shift: next - shown, isFast }
    clearTimeout(timers.current.settled)
    if (isFast) timers.current.settled = setTimeout(() => updateVisibleRange(), SETTLED_MS)
    else if (end > start) source.want(start, end)
    const { shift } = span.current
    if (before.start !== start || before.end !== end || before.shift !== shift || before.isFast !== isFast) draw(0)
  }, [])

  /** Corrects the scroll bar after small steps, and moves the tiles accordingly. */
  const correctScrollBar = useCallback(() => {
    const { shown, full } = place.current
    const right = current.current.scale.toShown(full)
    if (Math.abs(right - shown) < 1) return
    place.current = { shown: right, full, time: performance.now() }
    span.current = { ...span.current, shift: full - right }
    scrollBy({ top: right - shown, behavior: 'instant' })
    draw(0)
  }, [])

  useEffect(() => source.listen(() => draw(0)), [source])
  useLayoutEffect(() => {
    const { current: element } = list
    if (element === null) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    setWidth(element.clientWidth)
    return () => observer.disconnect()
  }, [])
  // Keep the visible items in view when the number of columns changes.
  const topItem = useRef(0)
  useLayoutEffect(() => {
    const { current: element } = list
    if (element === null) return
    const isAbove = element.getBoundingClientRect().top >= 0
    if (!isAbove && topItem.current > 0) {
      const full = Math.floor(topItem.current / grid.columns) * grid.rowHeight
      place.current = { shown: scale.toShown(full), full, time: 0 }
      scrollBy({ top: element.getBoundingClientRect().top + scale.toShown(full), behavior: 'instant' })
    }
    updateVisibleRange(true)
  }, [grid])
  useLayoutEffect(() => updateVisibleRange(true), [scale, source, updateVisibleRange])
  useEffect(() => {
    const onScroll = () => {
      updateVisibleRange()
      const { grid } = current.current
      topItem.current = Math.max(0, Math.round(place.current.full / grid.rowHeight)) * grid.columns
      clearTimeout(timers.current.idle)
      timers.current.idle = setTimeout(correctScrollBar, IDLE_MS)
    }
    const onResize = () => updateVisibleRange()
    addEventListener('scroll', onScroll, { passive: true })
    addEventListener('resize', onResize, { passive: true })
    return () => {
      removeEventListener('scroll', onScroll)
      removeEventListener('resize', onResize)
      clearTimeout(timers.current.settled)
      clearTimeout(timers.current.idle)
    }
  }, [updateVisibleRange, correctScrollBar])

  const focusOn = (index: number) => {
    active.current = index
    focusNext.current = true
    // The position may be out of date, because focusing an item can scroll the page.
    updateVisibleRange()
    scrollItemIntoView(index, current.current, place.current)
    updateVisibleRange()
    draw(0)
  }
  useLayoutEffect(() => {
    if (!focusNext.current) return
    const tile = list.current?.querySelector<HTMLElement>(`[data-index="${active.current}"] a`)
    if (tile == null) return
    focusNext.current = false
    tile.focus({ preventScroll: true })
  })

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.metaKey || event.altKey || event.shiftKey) return
    const move: Move = {
      columns: grid.columns,
      rows: Math.max(1, Math.floor((innerHeight - HEADER_HEIGHT) / grid.rowHeight)),
    }
    const index = movedIndex(event.key, active.current, total, move)
    if (index === null) return
    event.preventDefault()
    focusOn(index)
  }
  const onFocus = ({ target }: FocusEvent) => {
    const item = target instanceof Element ? target.closest<HTMLElement>('[data-index]') : null
    if (item === null) return
    focused.current = Number(item.dataset.index)
    active.current = focused.current
  }

  const { start, end, shift, isFast } = span.current
  const indexes = Array.from({ length: Math.max(0, Math.min(end, total) - start) }, (_, n) => start + n)
  const hasFocus = list.current?.contains(document.activeElement) ?? false
  // Keep the focused item in the document and at its position. If it were removed or moved, it would lose the focus.
  if (hasFocus && focused.current < total) {
    if (focused.current < start) indexes.unshift(focused.current)
    else if (focused.current >= Math.min(end, total)) indexes.push(focused.current)
  }
  const inSight = itemsBetween(grid, total, place.current.full + HEADER_HEIGHT, place.current.full + innerHeight, 0)
  const reachable = indexes.includes(active.current) ? active.current : inSight.start
  return (
    <ul
      ref={list}
      class={`gallery ${view}`}
      // biome-ignore lint/a11y/noRedundantRoles: without bullets, Safari drops the list role
      role="list"
      aria-label={label}
      aria-description="Use the arrow keys to move between NFTs, and Home and End to go to the first and last NFT"
      style={{ height: `${scale.shown}px` }}
      onKeyDown={onKeyDown}
      onFocusCapture={onFocus}
    >
      {indexes.map((index) => {
        const item = source.at(index)
        const style = {
          top: `${Math.floor(index / grid.columns) * grid.rowHeight - shift}px`,
          left: `${(index % grid.columns) * (grid.tileWidth + grid.gap)}px`,
          width: `${grid.tileWidth}px`,
          height: `${grid.rowHeight - grid.gap}px`,
        }
        return (
          <li key={index} style={style} data-index={index} aria-posinset={index + 1} aria-setsize={source.total ?? -1}>
            {item === undefined ? (
              <TileSkeleton view={view} />
            ) : (
              <Tile
                nft={item}
                view={view}
                showsImage={!isFast}
                tabIndex={index === reachable ? 0 : -1}
                note={noteOf?.(item)}
              />
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** Returns the position in the list after the window is scrolled to `shown`. */
function toListPosition(before: ScrollPosition, shown: number, scale: Scale, jumped: boolean): number {
  if (scale.shown === scale.full) return shown
  const step = shown - before.shown
  const isSmall = !jumped && Math.abs(step) < 2 * innerHeight
  const next = isSmall ? before.full + step : scale.toFull(shown)
  // After small steps, the position in the list can differ from that of the scroll bar. At both ends of the list, they
  // must still match.
  const [first, last] = [scale.toShown(0), scale.shown - innerHeight]
  if (shown <= first || shown >= last) return scale.toFull(shown)
  return next
}

interface ShownGrid {
  grid: Grid
  scale: Scale
}

/** Scrolls the row of an item into view, but no farther than necessary. */
function scrollItemIntoView(index: number, { grid, scale }: ShownGrid, { shown, full }: ScrollPosition): void {
  const top = Math.floor(index / grid.columns) * grid.rowHeight
  const above = top - HEADER_HEIGHT - grid.gap
  const below = top + grid.rowHeight - innerHeight
  const wanted = full > above ? above : full < below ? below : full
  if (wanted === full) return
  const isNear = Math.abs(wanted - full) < innerHeight
  scrollBy({ top: isNear ? wanted - full : scale.toShown(wanted) - shown, behavior: 'instant' })
}
