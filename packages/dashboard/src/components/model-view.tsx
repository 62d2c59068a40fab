import type { ModelViewerElement } from '@google/model-viewer';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

declare module 'preact' {
  namespace JSX {
    interface IntrinsicElements {
      'model-viewer': {
        children?: ComponentChildren;
        ref: RefObject<ModelViewerElement | null>;
        src: string;
        alt: string;
        poster: string | undefined;
        'camera-controls': boolean;
        'touch-action': string;
        'shadow-intensity': string;
        'interaction-prompt': string;
        ar: boolean;
      };
    }
  }
}

type Viewer = typeof import('./model-viewer.js');

/** The interactive model: can be rotated, shown as a wireframe and, on some devices, viewed in augmented reality. */
export function ModelView({ glb, thumbnail }: { glb: string; thumbnail: string | undefined }) {
  const element = useRef<ModelViewerElement>(null);
  const [viewer, setViewer] = useState<Viewer>();
  const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading');
  const [wireframe, setWireframe] = useState(false);
  useEffect(() => {
    const { current } = element;
    if (!current) return;
    const onLoad = () => setState('loaded');
    const onError = () => setState('failed');
    current.addEventListener('load', onLoad);
    current.addEventListener('error', onError);
    import('./model-viewer.js').then(setViewer, onError);
    return () => {
      current.removeEventListener('load', onLoad);
      current.removeEventListener('error', onError);
    };
  }, []);
  useEffect(() => {
    if (viewer && element.current && state === 'loaded' && wireframe) return viewer.showWireframe(element.current);
  }, [viewer, state, wireframe]);
  return (
    <div class="model" data-state={state}>
      <model-viewer
        ref={element}
        src={glb}
        poster={thumbnail}
        alt="3D model. The arrow keys rotate it; plus and minus zoom."
        camera-controls
        touch-action="pan-y"
        shadow-intensity={wireframe ? '0' : '0.6'}
        interaction-prompt="none"
        ar
      >
        <button type="button" slot="ar-button" class="ar">
          View in your room
        </button>
      </model-viewer>
      {state === 'loaded' && (
        <button
          type="button"
          class="small wireframe-toggle"
          aria-pressed={wireframe}
          onClick={() => setWireframe(!wireframe)}
        >
          Wireframe
        </button>
      )}
      {state === 'failed' && (
        <p role="alert" class="error">
          This browser could not show the model. You can still download its file.
        </p>
      )}
    </div>
  );
}
