export interface Move {
  columns: number
  /** Number of rows in view. */
  rows: number
}

/** Returns the index to which a key moves; null if the key doesn't move. */
export function movedIndex(key: string, from: number, total: number, { columns, rows }: Move): number | null {
  if (total === 0) return null
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: 1,
    ArrowLeft: -1,
    ArrowDown: columns,
    ArrowUp: -columns,
    PageDown: rows * columns,
    PageUp: -rows * columns,
    Home: -from,
    End: total - 1 - from,
  }
  const step = Object.hasOwn(steps, key) ? steps[key] : undefined
  if (step === undefined) return null
  const to = from + step
  // If the last row has no item in this column, ArrowDown moves to the last item.
  if (to >= total) return key === 'ArrowDown' && isLastRow(from, total, columns) ? from : total - 1
  if (to < 0) return key === 'ArrowUp' ? from : 0
  return to
}

const isLastRow = (index: number, total: number, columns: number) =>
  Math.floor(index / columns) === Math.floor((total - 1) / columns)
