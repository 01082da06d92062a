import type { Page } from '../../server/explorer/types.ts'
import { groupDigits } from '../format.ts'

interface ShowMoreProps {
  page: Page<unknown> | undefined
  isLoading: boolean
  onMore: () => void
}

/** A button below a partial list that loads more items. It shows the total. */
export const ShowMore = ({ page, isLoading, onMore }: ShowMoreProps) =>
  page !== undefined && page.items.length < page.total ? (
    <div class="show-more">
      <button type="button" class="button" onClick={onMore} disabled={isLoading}>
        Show more
      </button>
      <span class="faint">
        {groupDigits(page.items.length)} of {groupDigits(page.total)}
      </span>
    </div>
  ) : null
