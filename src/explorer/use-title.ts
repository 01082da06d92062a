import { useEffect } from 'preact/hooks'
import { shortenMiddle } from './format.ts'

/** Sets the title of the page, which tabs show and screen readers announce. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title =
      title === undefined || title === '' ? 'gdn explorer' : `${shortenMiddle(title, 60, 8)} · gdn explorer`
  }, [title])
}
