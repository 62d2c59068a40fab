import type { ModelViewerElement } from '@google/model-viewer';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button, Select } from './buttons.js';
import type { ModelFigures, PhotoView, photoPlacement } from './model-viewer.js';

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
        'camera-orbit': string;
        'touch-action': string;
        'shadow-intensity': string;
        'interaction-prompt': string;
        ar: boolean;
      };
    }
  }
}

type Viewer = typeof import('./model-viewer.js');

/** Shows the model as its thumbnail does: yaw 0.56, pitch 0.3 (engine/src/render/render-view.ts) on a sphere. */
const threeQuarterOrbit = '0.56rad 1.271rad auto';
/** Approximately the view of the photo. */
const frontOrbit = '0rad 1.4rad auto';

const backgrounds = { auto: 'Background: auto', white: 'White', gray: 'Gray', black: 'Black' };
const comparisons = { none: 'Photo: off', beside: 'Photo beside', above: 'Photo on top' };
type Comparison = keyof typeof comparisons;
/** Models that do not contain the photo's camera, such as the sample, have only these comparisons. */
const roughComparisons = { none: comparisons.none, beside: comparisons.beside };

/** How far the model turns to each side of the first view. Users can turn it to the far side, which no photo shows. */
const swingRadians = Math.PI / 3;
const radiansPerSecond = 0.35;

/** Turns the model to and fro until the returned function is called. */
function swing(viewer: ModelViewerElement): () => void {
  const startedAt = performance.now();
  const turn = (now: number) => {
    const angle = ((now - startedAt) / 1000) * radiansPerSecond;
    viewer.resetTurntableRotation(swingRadians * Math.sin(angle / swingRadians));
    frame = requestAnimationFrame(turn);
  };
  let frame = requestAnimationFrame(turn);
  return () => cancelAnimationFrame(frame);
}

/** Puts the whole model into view again. */
function resetView(viewer: ModelViewerElement, orbit: string): void {
  viewer.resetTurntableRotation();
  viewer.minCameraOrbit = 'auto';
  viewer.maxCameraOrbit = 'auto';
  viewer.maxFieldOfView = 'auto';
  viewer.cameraTarget = 'auto auto auto';
  viewer.fieldOfView = 'auto';
  viewer.cameraOrbit = orbit;
}

function Toggle(props: { name: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <Button label={props.name} class="small" aria-pressed={props.isOn} onClick={() => props.onChange(!props.isOn)} />
  );
}

/** Whether the element fills the screen. */
function useFullScreen(element: RefObject<HTMLElement | null>): boolean {
  const [isFull, setIsFull] = useState(false);
  useEffect(() => {
    const onChange = () => setIsFull(document.fullscreenElement === element.current);
    document.addEventListener('fullscreenchange', onChange);
    return () => document.removeEventListener('fullscreenchange', onChange);
  }, [element]);
  return isFull;
}

/**
 * Shows the model for interaction. It swings until it is touched, and can be shown as clay, as a wireframe, next to or
 * below its photo and, on some devices, in augmented reality. `photo` is a blob: URL, if this browser has the photo.
 */
export function ModelView(props: {
  glb: string;
  thumbnail: string | undefined;
  photo: string | undefined;
  onMeasured: (figures: ModelFigures) => void;
}) {
  const { glb, thumbnail, photo, onMeasured } = props;
  const frame = useRef<HTMLDivElement>(null);
  const element = useRef<ModelViewerElement>(null);
  const [viewer, setViewer] = useState<Viewer>();
  const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading');
  const [surface, setSurface] = useState<'texture' | 'clay' | 'wireframe'>('texture');
  const [background, setBackground] = useState<keyof typeof backgrounds>('auto');
  const [chosenComparison, setComparison] = useState<Comparison>('none');
  const [opacity, setOpacity] = useState(0.5);
  const [isRotating, setIsRotating] = useState(() => !matchMedia('(prefers-reduced-motion: reduce)').matches);
  const isFullScreen = useFullScreen(frame);
  const comparison = photo === undefined ? 'none' : chosenComparison;
  const [photoView, setPhotoView] = useState<PhotoView>();
  const [placement, setPlacement] = useState<ReturnType<typeof photoPlacement>>();

  useEffect(() => {
    const { current } = element;
    if (!current) return;
    const onLoad = () => setState('loaded');
    const onError = () => setState('failed');
    const onTouch = () => setIsRotating(false);
    const touches = ['pointerdown', 'wheel', 'keydown'] as const;
    current.addEventListener('load', onLoad);
    current.addEventListener('error', onError);
    for (const touch of touches) current.addEventListener(touch, onTouch, { passive: true });
    import('./model-viewer.js').then(setViewer, onError);
    return () => {
      current.removeEventListener('load', onLoad);
      current.removeEventListener('error', onError);
      for (const touch of touches) current.removeEventListener(touch, onTouch);
    };
  }, []);
  useEffect(() => {
    if (!viewer || !element.current || state !== 'loaded') return;
    onMeasured(viewer.measure(element.current));
    setPhotoView(viewer.photoViewOf(element.current));
  }, [viewer, state, onMeasured]);
  useEffect(() => {
    if (viewer && element.current && state === 'loaded' && surface !== 'texture') {
      return viewer.showSurface(element.current, surface);
    }
  }, [viewer, state, surface]);

  useEffect(() => {
    if (element.current && state === 'loaded' && isRotating) return swing(element.current);
  }, [state, isRotating]);

  const compare = (value: Comparison) => {
    setComparison(value);
    if (value !== 'none') setIsRotating(false);
    else if (element.current) resetView(element.current, threeQuarterOrbit);
  };
  const reset = () => {
    if (!viewer || !element.current) return;
    if (comparison === 'none') resetView(element.current, threeQuarterOrbit);
    else if (photoView) viewer.lookFromPhoto(element.current, photoView);
    else resetView(element.current, frontOrbit);
  };
  const latestReset = useRef(reset);
  latestReset.current = reset;
  useEffect(() => {
    const { current } = element;
    if (!current || comparison === 'none') return;
    // A frame later, because model-viewer adapts its angle of view to the new size first.
    const observer = new ResizeObserver(() => requestAnimationFrame(() => latestReset.current()));
    observer.observe(current);
    return () => observer.disconnect();
  }, [comparison]);
  useEffect(() => {
    const { current } = element;
    if (!viewer || !current || !photoView || comparison !== 'above') return;
    const place = () => setPlacement(viewer.photoPlacement(current, photoView));
    place();
    current.addEventListener('camera-change', place);
    return () => current.removeEventListener('camera-change', place);
  }, [viewer, photoView, comparison]);
  const toggleFullScreen = () => {
    if (isFullScreen) void document.exitFullscreen();
    else void frame.current?.requestFullscreen();
  };
  return (
    <div class="viewer" ref={frame}>
      <div class={comparison === 'beside' ? 'views beside' : 'views'}>
        {comparison === 'beside' && (
          <div class="model">
            <img class="compared" src={photo} alt="Compared with the model" />
          </div>
        )}
        <div class="model" data-state={state} data-background={background}>
          <model-viewer
            ref={element}
            src={glb}
            poster={thumbnail}
            alt="3D model. The arrow keys rotate it; plus and minus zoom."
            camera-controls
            camera-orbit={threeQuarterOrbit}
            touch-action="pan-y"
            shadow-intensity={surface === 'wireframe' ? '0' : '0.6'}
            interaction-prompt="none"
            ar
          >
            <Button label="View in your room" slot="ar-button" class="ar" />
          </model-viewer>
          {comparison === 'above' && placement && (
            <img class="on-top" src={photo} alt="Compared with the model" style={{ opacity, ...placement }} />
          )}
          {state === 'failed' && (
            <p role="alert" class="error">
              This browser could not show the model. You can still download its file.
            </p>
          )}
        </div>
      </div>
      {state === 'loaded' && (
        <div class="row viewer-tools" role="toolbar" aria-label="View">
          <Toggle name="Rotate" isOn={isRotating} onChange={setIsRotating} />
          <Toggle name="Clay" isOn={surface === 'clay'} onChange={(isOn) => setSurface(isOn ? 'clay' : 'texture')} />
          <Toggle
            name="Wireframe"
            isOn={surface === 'wireframe'}
            onChange={(isOn) => setSurface(isOn ? 'wireframe' : 'texture')}
          />
          <Select class="small" name="Background" options={backgrounds} value={background} onChange={setBackground} />
          {photo !== undefined && (
            <Select
              class="small"
              name="Photo"
              options={photoView ? comparisons : roughComparisons}
              value={comparison}
              onChange={compare}
            />
          )}
          {comparison === 'above' && (
            <input
              type="range"
              aria-label="Opacity of the photo"
              min={0}
              max={1}
              step={0.05}
              value={opacity}
              onInput={(event) => setOpacity(event.currentTarget.valueAsNumber)}
            />
          )}
          <Button label="Reset view" class="small" onClick={reset} />
          {document.fullscreenEnabled && (
            <Button
              label={isFullScreen ? 'Exit full screen' : 'Full screen'}
              class="small"
              onClick={toggleFullScreen}
            />
          )}
        </div>
      )}
    </div>
  );
}
